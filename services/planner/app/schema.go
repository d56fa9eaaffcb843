package app

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema says what is wrong with a JSON Schema. References to other documents are refused: a plan stands for itself.
func schema(raw json.RawMessage) error {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	const name = "plan:output_schema"
	c := jsonschema.NewCompiler()
	c.UseLoader(noDocuments{})
	if err := c.AddResource(name, document); err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	_, err = c.Compile(name)
	return err
}

// noDocuments loads nothing, from nowhere.
type noDocuments struct{}

func (noDocuments) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: references to other documents are not followed", url)
}
