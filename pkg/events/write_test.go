package events

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// raws are JSON that is compact and JSON that is not.
var raws = []json.RawMessage{[]byte(`{ "k": ["<", 1] }`), []byte(`{"k":["x",1]}`)}

// fillOut sets everything below v to a non-empty value; texts alternate.
func fillOut(v reflect.Value, texts []string, turn *int) {
	*turn++
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts[*turn%len(texts)])
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*turn))
	case reflect.Uint64:
		v.SetUint(uint64(*turn))
	case reflect.Float64:
		v.SetFloat(float64(*turn) / 4)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillOut(v.Elem(), texts, turn)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, key := range []string{"b", "a<"} {
			value := reflect.New(v.Type().Elem()).Elem()
			fillOut(value, texts, turn)
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.ValueOf(raws[*turn%len(raws)]))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fillOut(v.Index(i), texts, turn)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 8, 0, 0, 120, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fillOut(v.Field(i), texts, turn)
		}
	}
}

// same fails unless the payload writes itself as encoding/json does.
func same(t *testing.T, v any) {
	t.Helper()
	if _, ok := v.(written); !ok {
		t.Fatalf("%T does not write itself", v)
	}
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Marshal(v)
	if err != nil || string(got) != string(want) {
		t.Fatalf("%T, %v\ngot  %s\nwant %s", v, err, got, want)
	}
}

func TestWhatWritesItselfWritesWhatEncodingJSONWrites(t *testing.T) {
	texts := []string{"plain", "", "two\nlines", `"quoted" \`, "<a&b>", "目标\u2028，", "\x7f\xff"}
	for _, empty := range []any{&Work{}, &SubJob{}, &SubJobReported{}, &JournalRecord{}, &Plan{}, &GraphCreated{}, &Request{}, &Rules{}, &JobRequested{}, &JobAdvanced{}, &JobAdvanced{Transitions: []Transition{}}} {
		same(t, empty)
		kind := reflect.TypeOf(empty).Elem()
		for start := range texts {
			whole := reflect.New(kind)
			turn := start
			fillOut(whole.Elem(), texts, &turn)
			same(t, whole.Interface())
		}
		for i := range kind.NumField() {
			one := reflect.New(kind)
			turn := 0
			fillOut(one.Elem().Field(i), texts[:1], &turn)
			same(t, one.Interface())
		}
	}
}

func TestAPayloadThatCannotBeJSONIsAnErrorOfMarshal(t *testing.T) {
	if _, err := Marshal(&SubJobReported{Output: json.RawMessage(`{"torn`)}); err == nil {
		t.Fatal("torn output was written")
	}
	if _, err := Marshal(&Work{Deadline: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Fatal("a year that RFC 3339 cannot write was written")
	}
}
