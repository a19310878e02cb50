import { expect } from 'chai'
import { fileBlocks } from '../../../src/shared/chat/documents.ts'

const ofBytes = (bytes: Buffer, type = 'text/csv') =>
  fileBlocks({ at: 'messages.0.content.0', name: 'a.csv', data: `data:${type};base64,${bytes.toString('base64')}` })

describe('a file in a request', () => {
  it('is words if it is text in UTF-8, and a document of its type if its bytes are anything else', () => {
    expect(ofBytes(Buffer.from('größe;1'))).to.deep.equal([{ kind: 'text', text: 'a.csv\ngröße;1' }])
    const latin = Buffer.from('größe;1', 'latin1')
    expect(ofBytes(latin)).to.deep.equal([
      {
        kind: 'document',
        url: `data:text/csv;base64,${latin.toString('base64')}`,
        at: 'messages.0.content.0',
        name: 'a.csv',
      },
    ])
    expect(ofBytes(Buffer.from('words'), 'application/x-unknown')[0]).to.include({ kind: 'document' })
  })
})
