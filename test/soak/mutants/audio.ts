import type { Mutant } from './mutant.ts'
import { FORMS, LENGTHS_OF_SOUND, SCHEDULES, SPEECH, TRANSCRIPTIONS } from './killing-tests.ts'

/** Bugs in forms, speech and transcriptions. */
export const OF_AUDIO: readonly Mutant[] = [
  {
    name: 'sound that broke off ends as a whole one',
    why: 'A part of a file must not look like a short whole one.',
    edits: [
      {
        file: 'src/api/v1/audio/sound-answer.ts',
        find: 'if (answer && placed.relayed?.isWhole) body.end()',
        replace: 'if (answer) body.end()',
      },
    ],
    tests: [SPEECH],
  },
  {
    name: 'speech that broke off is refunded',
    why: 'From its first byte on it is charged in full.',
    edits: [
      {
        file: 'src/workers/calls/run-speech.ts',
        find: 'if (!passed.hasBegun) throw error',
        replace: 'throw error',
      },
    ],
    tests: [SCHEDULES, SPEECH],
  },
  {
    name: 'speech is settled though nothing was heard',
    why: 'What broke off before its first byte is refunded.',
    edits: [
      {
        file: 'src/workers/calls/run-speech.ts',
        find: 'if (!passed.hasBegun) throw error',
        replace: 'if (!passed.hasBegun && !run.maybeSent) throw error',
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'instructions are spoken by for nothing',
    why: 'An upstream bills them.',
    edits: [
      {
        file: 'src/shared/requests/speech.ts',
        find: 'codePoints(input) + codePoints(instructions)',
        replace: 'codePoints(input) + codePoints(instructions.slice(0, 0))',
      },
    ],
    tests: [SPEECH],
  },
  {
    name: 'a file is as long as its head says',
    why: 'A forged head cannot make a transcription free.',
    edits: [
      {
        file: 'src/shared/sound/wav.ts',
        find: "id === 'data' && (stated === 0 || stated > left) ? left : stated",
        replace: "id === 'data' && stated > left ? left : stated",
      },
    ],
    tests: [LENGTHS_OF_SOUND],
  },
  {
    name: 'a begun second is free',
    why: 'Seconds are rounded up.',
    edits: [
      {
        file: 'src/api/v1/audio/transcriptions.ts',
        find: 'Math.max(1, Math.ceil(sound.seconds))',
        replace: 'Math.max(1, Math.floor(sound.seconds))',
      },
    ],
    tests: [TRANSCRIPTIONS],
  },
  {
    name: 'a second file of a name replaces the first',
    why: 'It is refused: nobody knows which of them is meant.',
    edits: [
      {
        file: 'src/api/forms/read-form.ts',
        find: 'if (count > most)',
        replace: 'if (count > most && most > 1)',
      },
    ],
    tests: [FORMS],
  },
  {
    name: 'files of calls that wait are swept',
    why: 'They are there as long as their call is open.',
    edits: [
      {
        file: 'src/shared/requests/uploads.ts',
        find: 'c.id = u.call_id AND c.finished_at IS NULL',
        replace: "c.id = u.call_id AND c.finished_at IS NULL AND c.status = 'running'",
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'files stay that were left behind',
    why: 'A process that dies removes none: the reconciler does.',
    edits: [
      {
        file: 'src/shared/requests/uploads.ts',
        find: 'c.id = u.call_id AND c.finished_at IS NULL',
        replace: "c.id = u.call_id AND c.status <> 'succeeded'",
      },
    ],
    tests: [SCHEDULES],
  },
  {
    name: 'files stay after their call',
    why: 'They are removed in every way that a call can end.',
    edits: [
      {
        file: 'src/workers/calls/processor.ts',
        find: 'if (job.files) await dropUploads(db, job.callId)',
        replace: 'if (job.files && job.callId === undefined) await dropUploads(db, job.callId)',
      },
      {
        file: 'src/workers/reconciler.ts',
        find: 'uploads: () => sweepUploads(deps.db),',
        replace: 'uploads: () => Promise.resolve(sweepUploads),',
      },
    ],
    tests: [TRANSCRIPTIONS],
  },
]
