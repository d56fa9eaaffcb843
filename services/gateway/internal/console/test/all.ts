// All tests of the pure modules; make browser runs them in Chromium, which leaves the results in window.results.

import "./forms";
import "./hands";
import "./past";
import "./picture";
import "./store";
import "./streams";
import "./words";
import { run } from "./kit";

run().then((results) => ((window as any).results = results));
