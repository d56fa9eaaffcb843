package main_test

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// proof runs one script of testdata/proof; they show features of predecessor systems from outside.
func proof(t *testing.T, name string) {
	t.Helper()
	t.Parallel()
	runScripts(t, testscript.Params{Files: []string{filepath.Join("testdata", "proof", name+".txtar")}})
}

// proves D3
// proves D8
// proves D10
// proves F-T1
// proves F-weakness-c
func TestWhetherAPersonIsAskedIsUpToThePlanUnlessTheRequestSays(t *testing.T) { proof(t, "context") }

// proves V7
// proves V10
// proves V19
// proves V-T12
func TestGuidanceAndWarningsAreShownBeforeTheTasksBegin(t *testing.T) { proof(t, "notices") }

// proves V2
// proves V11
// proves V-T2
// proves V-T3
// proves V-T4
// proves V-T15
func TestAJobThatCouldNotBePlannedEndsDifferentlyFromAnAnswer(t *testing.T) { proof(t, "outcome") }

// proves F8
// proves F-T2
func TestAnEditThatCannotBeWorkedInIsToldAndAskedAgain(t *testing.T) { proof(t, "edit") }

// proves V10
// proves V20
// proves V-weakness-9
func TestTheTimeZoneIsThatOfTheRequestTheSessionTheUserOrTheCaller(t *testing.T) { proof(t, "zone") }

// proves V1
// proves V12
// proves V-T1
func TestTheAssistantPausesForMissingInput(t *testing.T) { proof(t, "assistant") }

func TestARequestChangesTheToolsOfItsAgents(t *testing.T) { proof(t, "toolset") }

func TestAToolFindsThePassagesOfAnAgent(t *testing.T) { proof(t, "retriever") }

func TestTheDialoguesOfTheAncestorsGoAsTheirPageShows(t *testing.T) { proof(t, "dialogues") }

func TestWhatModelsWriteIsReadRepairedAndChecked(t *testing.T) { proof(t, "reading") }

func TestResearchGoesFromTheFirstReaderToTheReport(t *testing.T) { proof(t, "research") }

func TestAStepEndsInOneOfFourOutcomes(t *testing.T) { proof(t, "outcomes") }

func TestAnAgentKeepsWithinItsLimits(t *testing.T) { proof(t, "limits") }

func TestExpertsElsewhereAreExpertsLikeThoseHere(t *testing.T) { proof(t, "elsewhere") }

func TestThePlannerKnowsWhatItShouldAndHoldsUpNobody(t *testing.T) { proof(t, "planner") }

func TestWhatIsKeptGoesOnAfterARestart(t *testing.T) { proof(t, "restart") }
