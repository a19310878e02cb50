import { expect } from 'chai'
import { TRANSCRIPTIONS, countsOf } from '../../../../scripts/harness/calling.ts'
import { anAccount } from '../../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../../scripts/harness/factories.ts'
import { until } from '../../../../scripts/harness/until.ts'
import { startGateway } from '../../../../scripts/harness/harness.ts'
import type { Gateway } from '../../../../scripts/harness/harness.ts'
import { silence } from '../../../shared/media-files/fixtures.ts'
import { emptyTracks, openParents } from '../../../shared/media-files/worst-cases.ts'
import { expectBooksToBalance } from '../../../support/books.ts'
import { uploadsLeft } from '../../forms/form-server.ts'
import type { Field } from './send-form.ts'
import { sendForm } from './send-form.ts'

describe('a transcription that cannot be', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  beforeEach(async () => {
    account = await anAccount(gateway.db, 1_000_000)
  })
  afterEach(async () => {
    await until('no file is left', () => uploadsLeft().length === 0)
    await expectBooksToBalance(gateway.db)
  })

  const refusedOf = (fields: Field[]) => sendForm(`${gateway.url}${TRANSCRIPTIONS}`, account.key, fields)

  const REFUSED: [what: string, fields: Field[], param: string][] = [
    ['no file', [['model', 'sandbox-transcription']], 'file'],
    [
      'a text for its file',
      [
        ['model', 'sandbox-transcription'],
        ['file', 'x'],
      ],
      'file',
    ],
    [
      'two files (E3.9)',
      [
        ['model', 'sandbox-transcription'],
        ['file', silence(1)],
        ['file', silence(1)],
      ],
      'file',
    ],
    [
      'a picture',
      [
        ['model', 'sandbox-transcription'],
        ['file', Buffer.from('GIF89a')],
      ],
      'file',
    ],
    [
      'more than four hours',
      [
        ['model', 'sandbox-transcription'],
        ['file', long()],
      ],
      'file',
    ],
    [
      'a file of 130,000 elements in each other',
      [
        ['model', 'sandbox-transcription'],
        ['file', openParents(130_000, 0)],
      ],
      'file',
    ],
    [
      'a file of 200,000 tracks',
      [
        ['model', 'sandbox-transcription'],
        ['file', emptyTracks(200_000, 43_600)],
      ],
      'file',
    ],
    [
      'a WAV file behind a tag',
      [
        ['model', 'sandbox-transcription'],
        ['file', Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'), silence(1)])],
      ],
      'file',
    ],
    [
      'a form that it does not have',
      [
        ['model', 'sandbox-transcription'],
        ['file', silence(1)],
        ['response_format', 'diarized_json'],
      ],
      'response_format',
    ],
    [
      'a stream',
      [
        ['model', 'sandbox-transcription'],
        ['file', silence(1)],
        ['stream', 'true'],
      ],
      'stream',
    ],
    [
      'times without verbose_json',
      [
        ['model', 'sandbox-transcription'],
        ['file', silence(1)],
        ['timestamp_granularities[]', 'word'],
      ],
      'timestamp_granularities',
    ],
    [
      'a prompt of more than 2,000 characters',
      [
        ['model', 'sandbox-transcription'],
        ['file', silence(1)],
        ['prompt', 'x'.repeat(2001)],
      ],
      'prompt',
    ],
    [
      'a temperature that is none',
      [
        ['model', 'sandbox-transcription'],
        ['file', silence(1)],
        ['temperature', 'hot'],
      ],
      'temperature',
    ],
    [
      'a field that it does not know',
      [
        ['model', 'sandbox-transcription'],
        ['file', silence(1)],
        ['include[]', 'logprobs'],
      ],
      'include[]',
    ],
    [
      'a strategy',
      [
        ['model', 'sandbox-transcription'],
        ['file', silence(1)],
        ['chunking_strategy', 'auto'],
      ],
      'chunking_strategy',
    ],
  ]
  for (const [what, fields, param] of REFUSED) {
    it(`is refused with ${what}, before any charge`, async () => {
      const reply = await refusedOf(fields)
      expect([reply.status, reply.json.error.type, reply.json.error.param], reply.text).to.deep.equal([
        400,
        'invalid_request',
        param,
      ])
      expect((await countsOf(gateway.db, account)).entries).to.equal(1)
    })
  }

  /** More than four hours of MP3, 72 ms in 72 bytes. */
  function long(): Buffer {
    const frame = Buffer.alloc(72)
    frame.writeUInt32BE(0xffe31800)
    return Buffer.concat(Array.from({ length: 200_100 }, () => frame))
  }

  it('has a model, as 400 `unsupported_model` says', async () => {
    for (const fields of [[['model', 'none'] as Field], []]) {
      const reply = await refusedOf([...fields, ['file', silence(1)]])
      expect([reply.status, reply.json.error.type]).to.deep.equal([400, 'unsupported_model'])
    }
  })
})
