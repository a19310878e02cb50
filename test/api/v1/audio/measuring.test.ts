import { expect } from 'chai'
import { Quota } from '../../../../src/api/endpoint/quota.ts'
import { FormFile, FormSpace, MOST_FORMS } from '../../../../src/api/forms/form-file.ts'
import { Measuring } from '../../../../src/api/v1/audio/measuring.ts'
import { NoSound } from '../../../../src/shared/media-files/reader.ts'
import { knowsTurns, longestTurn } from '../../../support/turns.ts'
import { silence } from '../../../shared/media-files/fixtures.ts'
import { LARGEST, WORST, emptyTracks, openParents } from '../../../shared/media-files/worst-cases.ts'

describe('the measuring of audio files', () => {
  const spaces: FormSpace[] = []
  let measuring: Measuring
  beforeEach(() => {
    measuring = new Measuring()
  })
  afterEach(async () => {
    await measuring.stop()
    await Promise.all(spaces.splice(0).map((space) => space.close()))
  })

  async function fileOf(bytes: Buffer): Promise<FormFile> {
    const space = new FormSpace(new Quota(MOST_FORMS), 'a')
    spaces.push(space)
    const file = new FormFile(space, 0, { name: 'x', type: '' })
    await file.add(bytes)
    return file
  }

  const outcomeOf = async (account: string, bytes: Buffer): Promise<string> => {
    const file = await fileOf(bytes)
    return measuring.measure(account, file.opened()).then(
      ({ seconds }) => `${seconds} s`,
      (error: unknown) => {
        if (error instanceof NoSound) return error.message
        throw error
      },
    )
  }

  it('is done one file of an account at a time, so that another account does not wait for all of them', async () => {
    const slow = await fileOf(WORST['Ogg of empty packets']!(LARGEST['Ogg of empty packets']! / 16))
    const ended: string[] = []
    const measured = async (account: string, file: FormFile): Promise<void> => {
      await measuring.measure(account, file.opened())
      ended.push(account)
    }
    const quick = await fileOf(silence(2))
    // Both threads have started: to start one may take longer than to measure all files.
    await Promise.all([measured('c', quick), measured('d', quick)])
    ended.splice(0)
    await Promise.all([measured('a', slow), measured('a', slow), measured('a', slow), measured('b', quick)])
    expect(ended.indexOf('b')).to.be.below(2)
  })

  it('goes on behind a file that is no audio', async () => {
    const none = outcomeOf('a', Buffer.from('none'))
    expect(await outcomeOf('a', silence(2))).to.equal('2 s')
    expect(await none).to.match(/must be WAV/)
  })

  it('refuses a file that takes too much CPU time', async () => {
    const hurried = new Measuring({ heapMb: 64, cpuMs: 50 })
    const slow = await fileOf(WORST['Ogg of empty packets']!(LARGEST['Ogg of empty packets']!))
    const error: unknown = await hurried.measure('a', slow.opened()).catch((thrown: unknown) => thrown)
    await hurried.stop()
    expect(error).to.be.instanceOf(NoSound).and.have.property('message', 'takes too long to measure')
  })

  it('takes no turn of the event loop of more than 250 ms of CPU, whatever the files are', async function () {
    if (!knowsTurns) this.skip()
    const hostile = [openParents(130_000, 0), emptyTracks(200_000, 43_600)]
    const worst = WORST['WebM of laces']!(LARGEST['WebM of laces']!)
    const all = await Promise.all([...hostile, worst].map(fileOf))
    let outcomes: PromiseSettledResult<unknown>[] = []
    const longest = await longestTurn(async () => {
      outcomes = await Promise.allSettled(all.map((file, at) => measuring.measure(`account ${at % 4}`, file.opened())))
    })
    expect(longest, 'ms').to.be.below(250)
    for (const outcome of outcomes.slice(0, hostile.length))
      expect(outcome).to.have.nested.property('reason.message').that.matches(/^has /)
  })
})
