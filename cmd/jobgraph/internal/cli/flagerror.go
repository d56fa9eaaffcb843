package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobgraph/jobgraph/pkg/host"
)

// flagError puts an error of the flag library into the words of this program: what was typed, what is wanted instead.
func flagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	if errors.As(err, &value) {
		return fmt.Errorf("--%s %q: %s", value.GetFlag().Name, value.GetValue(), wanted(value))
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if name := host.Meant(unknown.GetSpecifiedName(), known); name != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, name)
		}
	}
	return err
}

// wanted says what a flag takes.
func wanted(value *pflag.InvalidValueError) string {
	switch kind := value.GetFlag().Value.Type(); {
	case kind == "duration":
		return "use a span of time, such as 30s, 5m or 1h30m"
	case strings.HasPrefix(kind, "uint"):
		return "use a whole number from 0 on"
	case strings.HasPrefix(kind, "int"), kind == "count":
		return "use a whole number"
	case strings.HasPrefix(kind, "float"):
		return "use a number"
	case kind == "bool":
		return "use true or false"
	}
	return value.Unwrap().Error()
}
