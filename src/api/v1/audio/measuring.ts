/**
 * Turns of files that are measured. To walk one that was made for it takes seconds, in pieces of some milliseconds:
 * so one account has one of them in work at a time.
 */
import { measureSound } from '../../../shared/sound/measure.ts'
import type { Sound, SoundSource } from '../../../shared/sound/reader.ts'
import { SenderQueue } from '../../endpoint/sender-queue.ts'

/** Measures the files of each account one after another, in the order in which they came. */
export class Measuring {
  // Those that wait lie on the disk, where they are counted as forms.
  private readonly turns = new SenderQueue({ atOnce: 1, waiting: Infinity })

  /** What a file is. @throws NoSound */
  async measure(account: string, source: SoundSource): Promise<Sound> {
    const end = await this.turns.take(account)
    try {
      return await measureSound(source)
    } finally {
      end()
    }
  }
}
