import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import type { Arena } from '../support/crash.ts'
import { startArena } from '../support/crash.ts'
import { KINDS, LINES, casesOf, figures, playAll } from './cuts.ts'
import type { Case } from './cuts.ts'
import { inSoak, report } from './scale.ts'

const ARENAS = 6

/** What happens beside the calls. It is the same for all kinds, so one is enough, in the soak. */
const isHousekeeping = ({ cut }: Case): boolean =>
  /maintenance|audit|leases|meta|stalled|select version/.test(cut.label)

/** Of the cuts that only time-outs of the queue repair, `npm test` has those of images. */
const isSlow = ({ kind, line }: Case): boolean =>
  line.side === 'worker' && line.store === 'redis' && kind.name !== 'image'

describe('a connection cut at any statement of a call', function () {
  // Each test plays some fifty calls.
  this.timeout(150_000)
  let sandbox: Sandbox
  let arenas: Arena[]

  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.3, imageSeconds: 0.02 })
    arenas = []
    for (let one = 0; one < ARENAS; one++) arenas.push(await startArena(sandbox))
  })
  after(async () => {
    await Promise.all(arenas.map((arena) => arena.stop()))
    await sandbox.close()
  })

  for (const { side, store } of LINES) {
    it(`between ${side} and ${store} neither loses nor pays a call twice, at each statement`, async () => {
      const cases: Case[] = []
      for (const kind of KINDS) cases.push(...(await casesOf(arenas[0]!, kind, [{ side, store }])))
      report(
        figures(
          await playAll(
            arenas,
            sandbox,
            cases.filter((one) => inSoak || (!isHousekeeping(one) && !isSlow(one))),
          ),
        ),
      )
    })
  }
})
