import type { Sandbox } from '../../sandbox/server.ts'
import { createSandbox } from '../../sandbox/server.ts'
import type { Arena } from '../support/crash.ts'
import { startArena } from '../support/crash.ts'
import { KINDS, casesOf, figures, playAll } from './cuts.ts'
import type { Case } from './cuts.ts'
import { inSoak, report } from './scale.ts'

const ARENAS = 5

/** What happens beside the calls. It is the same for all kinds, so one is enough, in the soak. */
const isHousekeeping = ({ cut }: Case): boolean =>
  /maintenance|audit|leases|meta|stalled|select version/.test(cut.label)

/** Of the cuts that only time-outs of the queue repair, `npm test` has those of images. They come first. */
const isSlow = ({ line }: Case): boolean => line.side === 'worker' && line.store === 'redis'

/** `npm test` has streams of chats alone: a whole answer is on the same way as a picture. */
const isSample = (one: Case): boolean =>
  !isHousekeeping(one) && one.kind.name !== 'chat' && (one.kind.name === 'image' || !isSlow(one))

describe('a connection cut at any statement of a call', () => {
  let sandbox: Sandbox
  let arenas: Arena[]

  before(async () => {
    sandbox = await createSandbox({ videoSeconds: 0.3, imageSeconds: 0.02 })
    const queues = { WORKER_QUEUES: 'chat,image,video,maintenance' }
    arenas = await Promise.all(Array.from({ length: ARENAS }, () => startArena(sandbox, queues)))
  })
  after(async () => {
    await Promise.all(arenas.map((arena) => arena.stop()))
    await sandbox.close()
  })

  it('of a web or a worker with Postgres or Redis neither loses the call nor pays it twice', async () => {
    const all: Case[] = []
    for (const kind of KINDS) all.push(...(await casesOf(arenas[0]!, kind)))
    const cases = inSoak ? all : all.filter(isSample)
    report(figures(await playAll(arenas, sandbox, [...cases.filter(isSlow), ...cases.filter((one) => !isSlow(one))])))
    // It plays hundreds of calls, and more in the soak.
  }).timeout(600_000)
})
