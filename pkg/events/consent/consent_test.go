package consent

import "testing"

func TestWordsDecideOnlyIfNothingElseIsSaid(t *testing.T) {
	for want, texts := range map[Decision][]string{
		Accepted: {
			"yes", "Yes!", "y", "OK.", "[ACCEPTED]", "approve", "go", "Go ahead", "please go ahead", "yes, confirmed", "sure", "Sure, thanks", "that is ok",
			"I agree", "确认", "好的。", "好的谢谢", "请确认", "同意，谢谢", "批准", "可以", "行",
		},
		Rejected: {"no", "No.", "n", "nope", "no thanks", "reject", "please cancel", "stop", "不", "不行！", "不同意", "取消", "不可以，谢谢", "拒绝"},
		Undecided: {
			"", "please", "thank you", "谢谢", "yes no", "yes?", "ok？", "yes, but less", "not sure", "no problem", "go away", "不一定", "好的吗", "don't go ahead",
			"no, because it costs too much", "approve it tomorrow",
		},
	} {
		for _, text := range texts {
			if got := Of(text); got != want {
				t.Errorf("%q decides %d, want %d", text, got, want)
			}
		}
	}
}

func TestARejectionMayHaveAReason(t *testing.T) {
	type read struct {
		d      Decision
		reason string
	}
	for text, want := range map[string]read{
		"no, because it costs too much": {Rejected, "because it costs too much"},
		"No because it's late":          {Rejected, "because it's late"},
		"Reject: wrong account":         {Rejected, "wrong account"},
		"no - ask Ann first":            {Rejected, "ask Ann first"},
		"不行，太贵了":                        {Rejected, "太贵了"},
		"不 因为太贵":                        {Rejected, "因为太贵"},
		"no":                            {Rejected, ""},
		"yes":                           {Accepted, ""},
		"yes, because it is cheap":      {Undecided, ""},
		"no more of that":               {Undecided, ""},
		"no, go ahead":                  {Undecided, ""},
		"What is the weather?":          {Undecided, ""},
		"no-one knows":                  {Undecided, ""},
	} {
		if d, reason := Because(text); (read{d, reason}) != want {
			t.Errorf("%q is %d %q", text, d, reason)
		}
	}
}
