import type { Mutant } from './mutant.ts'
import { OWN_VARIABLES, VERSIONS, VERSION_OF_CALL } from './killing-tests.ts'

/** Bugs in how versions of the catalogue are applied and used. */
export const OF_CATALOGUE: readonly Mutant[] = [
  {
    name: "a worker uses its own version of the catalogue instead of the call's",
    why: 'A call is served by the version that it was opened at, whatever its worker uses by now.',
    edits: [
      {
        file: 'src/workers/calls/processor.ts',
        find: 'deps.catalogue.at(catalogueVersion)',
        replace: 'deps.catalogue.at(null)',
      },
    ],
    tests: [VERSION_OF_CALL],
  },
  {
    name: 'a catalogue is applied whatever version was expected',
    why: 'Of two operators who apply at once, the second must see what the first has changed.',
    edits: [
      {
        file: 'src/shared/operators/catalogue-changes.ts',
        find: 'application.expect !== (current?.version ?? 0)',
        replace: 'application.expect < 0',
      },
    ],
    tests: [VERSIONS],
  },
  {
    name: 'a secret of the server is named by an operator',
    why: "An upstream gets the keys that are meant for upstreams, and never Tollgate's own secrets.",
    edits: [
      {
        file: 'src/shared/platform/config/config.ts',
        find: 'isOwnVariable(variable, queues) ? undefined : environment[variable]',
        replace: 'environment[variable]',
      },
    ],
    tests: [OWN_VARIABLES],
  },
]
