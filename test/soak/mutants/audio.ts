import type { Mutant } from './mutant.ts'
import { FORMS, LENGTHS_OF_SOUND, SCHEDULES, SPEECH, TRANSCRIPTIONS, WORK_OF_MEASURING } from './killing-tests.ts'

/** Bugs in forms, speech and transcriptions. */
export const OF_AUDIO: readonly Mutant[] = [
  {
    name: 'sound that broke off ends as a whole one',
    why: 'A part of a file must not look like a short whole one.',
    edits: [
      {
        file: 'src/api/v1/audio/speech.ts',
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
        file: 'src/shared/media-files/wav.ts',
        find: "id === 'data' && (stated === 0 || stated > left) ? left : stated",
        replace: "id === 'data' && stated > left ? left : stated",
      },
    ],
    tests: [LENGTHS_OF_SOUND],
  },
  {
    name: 'the format of a file is found in front of its tags',
    why: 'Decoders skip a tag and find the format behind it.',
    edits: [
      {
        file: 'src/shared/media-files/measure.ts',
        find: 'const kind = kindOf(file.at(from, 12))',
        replace: "const kind = from > 0 ? 'mp3' : kindOf(file.at(from, 12))",
      },
      {
        file: 'src/shared/media-files/mp3.ts',
        find: 'if (!beginsWithFrames(file, from))',
        replace: 'if (from === 0 && !beginsWithFrames(file, from))',
      },
    ],
    tests: [LENGTHS_OF_SOUND],
  },
  {
    name: 'a tag is sent on with the frames behind it',
    why: 'What was not measured could be decoded.',
    edits: [
      {
        file: 'src/api/v1/audio/transcriptions.ts',
        find: 'file.skip(sound.from)',
        replace: 'file.skip(0)',
      },
    ],
    tests: [TRANSCRIPTIONS],
  },
  {
    name: 'each packet of Vorbis has a short block',
    why: 'Its mode states how long its block is.',
    edits: [
      {
        file: 'src/shared/media-files/packets.ts',
        find: 'return modes.long[mode] ?? true',
        replace: 'return (modes.long[mode] ?? true) && modes.long.length === 1',
      },
    ],
    tests: [LENGTHS_OF_SOUND],
  },
  {
    name: 'elements are as deep in each other as a file likes',
    why: 'What a parser has in memory is bounded.',
    edits: [
      {
        file: 'src/shared/media-files/webm.ts',
        find: 'if (ends.length === MAX_DEPTH)',
        replace: 'if (ends.length === 1_000_000)',
      },
    ],
    tests: [WORK_OF_MEASURING],
  },
  {
    name: 'a file has as many tracks as it likes',
    why: 'What a parser has in memory is bounded.',
    edits: [
      {
        file: 'src/shared/media-files/webm.ts',
        find: 'if (++this.tracks > MAX_TRACKS)',
        replace: 'if (++this.tracks > 3 * MAX_ELEMENTS)',
      },
    ],
    tests: [WORK_OF_MEASURING],
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
