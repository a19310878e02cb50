import { expect } from 'chai'
import pino from 'pino'
import { logQueueErrors } from '../../src/workers/worker.ts'

describe('what is logged of the queues', () => {
  it('says once that Redis is away, for all queues, and everything else each time', () => {
    const lines: string[] = []
    const say = logQueueErrors(pino({}, { write: (line: string) => lines.push(line) }))
    const away = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    say('chat', away)
    say('image', away)
    say('mail', new Error('WRONGPASS invalid username-password pair or user is disabled.'))
    say('mail', new Error("NOPERM this user has no permissions to run the 'evalsha' command"))
    say('mail', new Error('ERR Error running script (call to f_1): @user_script:1: -READONLY You cannot write'))
    say('chat', new Error('Missing lock for job 1. moveToFinished'))
    say('chat', new Error('Missing lock for job 2. moveToFinished'))
    expect(lines.map((line) => (JSON.parse(line) as { queue: string }).queue)).to.deep.equal(['chat', 'chat', 'chat'])
  })
})
