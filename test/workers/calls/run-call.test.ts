import { expect } from 'chai'
import { isUnsent } from '../../../src/workers/calls/run-call.ts'
import type { Run } from '../../../src/workers/calls/run-call.ts'

describe('a call whose worker stops', () => {
  it('is handed back as unsent only where no upstream can have it twice', () => {
    const run = (modality: string, more: object = {}, maybeSent = false): Run =>
      ({ call: { modality, upstreamRef: null, resumed: false, ...more }, maybeSent }) as unknown as Run
    for (const [one, isHandedBack] of [
      [run('chat'), true],
      [run('image'), true],
      [run('chat', {}, true), false],
      [run('video', { upstreamRef: 'task' }), false],
      [run('chat', { resumed: true }), true],
      [run('image', { resumed: true }), false],
      [run('embedding', { resumed: true }), false],
    ] as const)
      expect(isUnsent(one), JSON.stringify(one)).to.equal(isHandedBack)
  })
})
