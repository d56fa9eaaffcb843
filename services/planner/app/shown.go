package app

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/jobgraph/jobgraph/pkg/host"
	"github.com/jobgraph/jobgraph/pkg/llm"
)

// Shown lists the configured fields of the models for people. Keys are left out; values of headers and of provider-specific
// fields may be secrets too and are masked.
func (c Config) Shown() []host.Setting {
	var list []host.Setting
	for _, name := range c.Models.Names() {
		show(&list, sectionModels+"."+name, reflect.ValueOf(c.Models[name]))
	}
	return list
}

// show appends the settings below a path.
func show(list *[]host.Setting, at string, v reflect.Value) {
	if !v.IsValid() || v.IsZero() {
		return
	}
	switch value := v.Interface().(type) {
	case time.Duration:
		add(list, at, value.String())
		return
	case llm.Secret:
		add(list, at, host.Mask(string(value)))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.Elem().IsZero() {
			add(list, at, fmt.Sprint(v.Elem().Interface()))
			return
		}
		show(list, at, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			show(list, at+"."+name, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			show(list, fmt.Sprintf("%s[%d]", at, i), v.Index(i))
		}
	case reflect.Map, reflect.Interface:
		add(list, at, host.Mask("set"))
	default:
		add(list, at, fmt.Sprint(v.Interface()))
	}
}

func add(list *[]host.Setting, name, value string) {
	*list = append(*list, host.Setting{Name: name, Value: value, Source: host.FromConfig})
}
