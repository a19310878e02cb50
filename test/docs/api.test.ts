import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { chatOptions } from '../../src/shared/requests/chat-fields.ts'
import { errorCodes, statusOf } from '../../src/shared/platform/errors.ts'

describe('docs/api.md', () => {
  const page = readFileSync(join(root, 'docs/api.md'), 'utf8')

  it('has every error code with its status, and no other', () => {
    const said = Array.from(page.matchAll(/^\| (\d{3}) \| ([^|]+) \|/gm), ([, status, codes]) =>
      Array.from(codes!.matchAll(/`(\w+)`/g), ([, code]) => `${status} ${code}`),
    ).flat()
    expect(said.toSorted()).to.deep.equal(
      errorCodes()
        .map((code) => `${statusOf(code)} ${code}`)
        .toSorted(),
    )
  })

  it('has every accepted field of a chat, and no other', () => {
    const section = page.slice(page.indexOf('## Chat fields'), page.indexOf('An operator can allow further fields'))
    const said = Array.from(section.slice(section.indexOf('`model`')).matchAll(/`(\w+)`/g), ([, field]) => field!)
    expect(said.toSorted()).to.deep.equal(['model', 'messages', ...Object.keys(chatOptions.shape)].toSorted())
  })
})
