import { expect } from 'chai'
import { Measuring } from '../../../../src/api/v1/audio/measuring.ts'
import type { SoundSource } from '../../../../src/shared/sound/reader.ts'
import { silence, sourceOf } from '../../../shared/sound/fixtures.ts'

describe('the measuring of files of sound', () => {
  /** A file that is read once it is opened. */
  const closedFile = () => {
    let open = (): void => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const whole = sourceOf(silence(3))
    const about = { reads: 0 }
    const source: SoundSource = {
      ...whole,
      read: async (from, length) => {
        about.reads++
        await opened
        return whole.read(from, length)
      },
    }
    return { source, open, about }
  }

  it('takes one file of an account at a time, and those of others beside it', async () => {
    const measuring = new Measuring()
    const [first, second, other] = [closedFile(), closedFile(), closedFile()]
    const one = measuring.measure('a', first.source)
    const two = measuring.measure('a', second.source)
    const others = measuring.measure('b', other.source)
    other.open()
    expect((await others).seconds).to.equal(3)
    expect([first.about.reads, second.about.reads]).to.deep.equal([1, 0])
    second.open()
    first.open()
    expect((await one).seconds).to.equal(3)
    expect((await two).seconds).to.equal(3)
  })

  it('goes on behind a file that is no sound', async () => {
    const measuring = new Measuring()
    const none = measuring.measure('a', sourceOf(Buffer.from('none'))).catch((error: Error) => error.message)
    expect((await measuring.measure('a', sourceOf(silence(2)))).seconds).to.equal(2)
    expect(await none).to.match(/must be WAV/)
  })
})
