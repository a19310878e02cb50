import { expect } from 'chai'
import { TRANSCRIPTIONS } from '../../../../scripts/harness/calling.ts'
import { until } from '../../../../scripts/harness/until.ts'
import { silence } from '../../../shared/media-files/fixtures.ts'
import { emptyTracks, openParents } from '../../../shared/media-files/worst-cases.ts'
import { uploadsLeft } from '../../forms/form-server.ts'
import type { Field } from './send-form.ts'
import { sendForm } from './send-form.ts'
import { useAccount, useGateway } from '../../../support/gateway.ts'

describe('a transcription that cannot be', () => {
  const gateway = useGateway()
  const account = useAccount(gateway, 1_000_000)
  afterEach(async () => {
    await until('no file is left', () => uploadsLeft().length === 0)
  })

  const refusedOf = (fields: Field[]) => sendForm(`${gateway.url}${TRANSCRIPTIONS}`, account.key, fields)

  const MODEL: Field = ['model', 'sandbox-transcription']
  const tagged = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'), silence(1)])

  const OF_ITS_FILE: [what: string, ...files: (Buffer | string)[]][] = [
    ['no file'],
    ['a text for its file', 'x'],
    ['two files (E3.9)', silence(1), silence(1)],
    ['a picture', Buffer.from('GIF89a')],
    ['more than four hours', long()],
    ['a file of 130,000 elements in each other', openParents(130_000, 0)],
    ['a file of 200,000 tracks', emptyTracks(200_000, 43_600)],
    ['a WAV file behind a tag', tagged],
  ]
  const OF_FIELDS: [what: string, field: Field, param?: string][] = [
    ['a form that it does not have', ['response_format', 'diarized_json']],
    ['a stream', ['stream', 'true']],
    ['times without verbose_json', ['timestamp_granularities[]', 'word'], 'timestamp_granularities'],
    ['a prompt of more than 2,000 characters', ['prompt', 'x'.repeat(2001)]],
    ['a temperature that is none', ['temperature', 'hot']],
    ['a field that it does not know', ['include[]', 'logprobs']],
    ['a strategy', ['chunking_strategy', 'auto']],
  ]
  const REFUSED: [what: string, fields: Field[], param: string][] = [
    ...OF_ITS_FILE.map(([what, ...files]): [string, Field[], string] => [
      what,
      files.map((file): Field => ['file', file]),
      'file',
    ]),
    ...OF_FIELDS.map(([what, field, param = field[0]]): [string, Field[], string] => [
      what,
      [['file', silence(1)], field],
      param,
    ]),
  ]
  for (const [what, fields, param] of REFUSED) {
    it(`is refused with ${what}, before any charge`, async () => {
      const { status, json, text } = await refusedOf([MODEL, ...fields])
      expect([status, json.error.type, json.error.param], text).to.deep.equal([400, 'invalid_request', param])
      expect((await account.counts()).entries).to.equal(1)
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
