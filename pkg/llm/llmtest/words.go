package llmtest

import "strings"

// words are the texts of Play in one language.
type words struct {
	locale, question, wish, thought string
	options                         []string
	steps                           [4]stepWords
	counts, writes                  string
	answer, told                    string
	found, scripted                 string
}

// stepWords are the texts of one step; goal contains %s for the goal of the job.
type stepWords struct{ title, goal, why, done string }

// wished returns the length that a person has chosen, to be added to the goal; "" if they chose none.
func (w words) wished(goal string) string {
	for _, option := range w.options {
		if strings.HasSuffix(goal, " - "+option) {
			return option
		}
	}
	return ""
}

// page returns the content of a file: the goal, and the earlier findings.
func (w words) page(goal string, found []string) string {
	var b strings.Builder
	b.WriteString("# " + short(goal) + "\n\n" + w.scripted + "\n")
	if len(found) > 0 {
		b.WriteString("\n## " + w.found + "\n\n")
		for _, line := range found {
			b.WriteString("- " + line + "\n")
		}
	}
	return b.String()
}

var english = words{
	locale: "en-US", question: "How long may the result be?", options: []string{"one paragraph", "one page"}, wish: "The person wants it in %s.",
	thought: "An outline comes first, then figures and a draft at the same time, and the result is made of both.",
	steps: [4]stepWords{
		{"Outline", "Make an outline of: %s", "I need to know what belongs to it.", "A file with an outline is in the folder out."},
		{"Figures", "Count what can be counted about: %s", "Figures come from a program, not from me.", "A figure from a program is there."},
		{"Draft", "Write a draft of: %s", "A draft can be made while another expert counts.", "A file with a draft is in the folder out."},
		{"Result", "Put figures and draft together: %s", "One text answers the request.", "One file with the result is in the folder out."},
	},
	counts: "I count first, with a program.", writes: "Now I write it down.",
	answer: "Scripted answer to: %s", told: "- %s says: %s",
	found: "What the steps before have said", scripted: "A scripted model wrote this page. A real one would write what you asked for.",
}

var chinese = words{
	locale: "zh-CN", question: "结果可以有多长？", options: []string{"一段话", "一页"}, wish: "用户希望篇幅为%s。",
	thought: "先列提纲，然后同时统计数字和写草稿，最后把两者合并成结果。",
	steps: [4]stepWords{
		{"提纲", "列出提纲：%s", "先弄清楚要写什么。", "out 文件夹里有提纲文件。"},
		{"数字", "统计可以统计的数字：%s", "数字由程序得出，不由我猜。", "有一个由程序得出的数字。"},
		{"草稿", "写出草稿：%s", "统计的同时可以写草稿。", "out 文件夹里有草稿文件。"},
		{"结果", "合并数字和草稿：%s", "用一篇文字回答请求。", "out 文件夹里有一个结果文件。"},
	},
	counts: "我先用程序数一数。", writes: "现在把它写下来。",
	answer: "脚本模型的回答：%s", told: "- %s 的输出：%s",
	found: "前面步骤的结果", scripted: "本页由脚本模型写成；真正的模型会写出您要的内容。",
}
