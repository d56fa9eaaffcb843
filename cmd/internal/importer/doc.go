// Package importer reads the configuration files of other systems and generates jobgraph.yaml and cards of experts:
// Chat2Graph's chat2graph.yml, deer-go's deer-go.yaml, OpenManus's config.toml and ValueCell's agent cards.
//
// Every key of a source appears in the report: carried over, mapped to something else, or left out with the reason. Secrets
// become references to variables and are never written. The package neither reads nor writes files, and has no state.
package importer
