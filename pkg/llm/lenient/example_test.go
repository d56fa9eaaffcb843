package lenient_test

import (
	"errors"
	"fmt"

	"github.com/jobgraph/jobgraph/pkg/llm/lenient"
)

func ExampleRead() {
	answer := "<think>两步就够了</think>好的：\n```JSON\n{目标: '统计，汇总', steps: [1, 2,], /* ok */ done: True}\n```"
	value, notes, err := lenient.Read(answer, lenient.Options{Fits: lenient.Object})
	fmt.Println(string(value))
	fmt.Println(notes)
	fmt.Println(err)
	// Output:
	// {"目标":"统计，汇总","steps":[1,2],"done":true}
	// bare key@49 quote@57 bare key@76 extra comma@89 comment@92 bare key@101 literal@107
	// <nil>
}

func ExampleRead_truncated() {
	value, _, err := lenient.Read(`{"title": "Count", "steps": [{"goal": "cou`, lenient.Options{})
	fmt.Println(errors.Is(err, lenient.ErrTruncated), string(value))
	// Output: true {"title":"Count","steps":[{"goal":"cou"}]}
}
