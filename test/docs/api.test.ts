import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { createMessage } from '../../src/api/v1/messages/messages.ts'
import { anthropicTypeOf } from '../../src/shared/chat/messages/errors.ts'
import { CONTENT_BLOCKS, FIELDS } from '../../src/shared/chat/messages/fields.ts'
import { chatOptions } from '../../src/shared/chat/completions/fields.ts'
import { errorCodes, statusOf } from '../../src/shared/platform/errors.ts'

describe('docs/api', () => {
  const pageOf = (name: string): string => readFileSync(join(root, 'docs/api', name), 'utf8')

  it('has every error code with its status, and no other', () => {
    const said = Array.from(pageOf('errors.md').matchAll(/^\| (\d{3}) \| ([^|]+) \|/gm), ([, status, codes]) =>
      Array.from(codes!.matchAll(/`(\w+)`/g), ([, code]) => `${status} ${code}`),
    ).flat()
    expect(said.toSorted()).to.deep.equal(
      errorCodes()
        .map((code) => `${statusOf(code)} ${code}`)
        .toSorted(),
    )
  })

  it('has every field of a message by its kind, and every block and type of error', () => {
    const section = pageOf('messages.md')
    const rowOf = (kind: string) => {
      const [, fields] = new RegExp(`^\\| ${kind} \\| ([^|]+) \\|`, 'm').exec(section)!
      return Array.from(fields!.matchAll(/`(\w+)`/g), ([, name]) => name!).toSorted()
    }
    expect(rowOf('free')).to.deep.equal([...FIELDS.free].toSorted())
    expect(rowOf('dearer')).to.deep.equal(Object.keys(FIELDS.dearer).toSorted())
    const [, blocks] = /Blocks are ([^.]+)\./.exec(section)!
    const said = Array.from(blocks!.matchAll(/`(\w+)`/g), ([, name]) => name!)
    expect(said.toSorted()).to.deep.equal([...CONTENT_BLOCKS].toSorted())
    const types = Array.from(section.matchAll(/^\| `(\w+_(?:error|large))` \|/gm), ([, type]) => type!)
    const codes = [...new Set([...createMessage.codes].map(anthropicTypeOf))]
    expect(types.toSorted()).to.include.members(codes)
  })

  it('has every accepted field of a chat, and no other', () => {
    const page = pageOf('chats.md')
    const section = page.slice(page.indexOf('## Fields'), page.indexOf('An operator can allow further fields'))
    const said = Array.from(section.slice(section.indexOf('`model`')).matchAll(/`(\w+)`/g), ([, field]) => field!)
    expect(said.toSorted()).to.deep.equal(['model', 'messages', ...Object.keys(chatOptions.shape)].toSorted())
  })
})
