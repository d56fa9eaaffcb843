package egress

import (
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// Guard says which addresses may be reached: public ones, and those that are allowed explicitly.
type Guard struct {
	// Allow are non-public ranges that may be reached.
	Allow []netip.Prefix
}

// Ranges parses a list of single addresses and ranges. The error names the first that is neither.
func Ranges(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		prefix, err := netip.ParsePrefix(text)
		if !strings.Contains(text, "/") {
			var address netip.Addr
			if address, err = netip.ParseAddr(text); err == nil {
				prefix = netip.PrefixFrom(address, address.BitLen())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%q is no address and no range of them", text)
		}
		list = append(list, prefix)
	}
	return list, nil
}

// Control is for a net.Dialer, which calls it with the resolved address before connecting: so changing DNS answers makes no
// difference.
func (g *Guard) Control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %s: %w", address, err)
	}
	return g.check(to.Addr())
}

// check refuses a non-public address, unless it is allowed.
func (g *Guard) check(ip netip.Addr) error {
	ip = ip.Unmap().WithZone("")
	for _, allowed := range g.Allow {
		if allowed.Contains(ip) {
			return nil
		}
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || reserved(ip) {
		return fmt.Errorf("%s is not a public address: it has to be allowed (allow_addresses)", ip)
	}
	return nil
}

// reserved reports whether an address is in a non-public range that net/netip does not classify.
func reserved(ip netip.Addr) bool {
	for _, text := range [...]string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		// IPv6 ranges that may embed an IPv4 address.
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "100::/64", "2001:db8::/32", "fec0::/10",
	} {
		if netip.MustParsePrefix(text).Contains(ip) {
			return true
		}
	}
	return false
}
