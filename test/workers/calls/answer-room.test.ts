import { expect } from 'chai'
import { until } from '../../../scripts/harness/until.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import { AnswerRoom, answerBudget } from '../../../src/workers/calls/answer-room.ts'

const { signal } = new AbortController()

describe('the room of answers in a worker', () => {
  const begun: string[] = []
  beforeEach(() => begun.splice(0))

  /** A budget of bytes that are held: an answer holds three times its own. */
  const budgetOf = (total: number, perAccount: number) => answerBudget({ total, perAccount })

  function taking(room: AnswerRoom, name: string, bytes: number): Promise<void> {
    return room.take(bytes, signal).then(() => {
      begun.push(name)
    })
  }

  it('is shared by the answers of an account: the next waits for the end of a call, or a shorter answer', async () => {
    const answers = budgetOf(100, 60)
    const rooms = ['a', 'a', 'a', 'b'].map((account) => new AnswerRoom(answers, account as AccountId))
    const taken = rooms.map((room, at) => taking(room, String(at), 13))
    await until('what there is room for', () => begun.length === 2)
    expect(begun).to.deep.equal(['0', '3'])
    rooms[0]!.lowerTo(2)
    await taken[1]
    rooms[1]!.close()
    await Promise.all(taken)
    expect(begun).to.deep.equal(['0', '3', '1', '2'])
  })

  it('is all that an account may have for an answer that is larger', async () => {
    const answers = budgetOf(100, 60)
    const large = new AnswerRoom(answers, 'a' as AccountId)
    await taking(large, 'large', 1_000_000)
    const next = taking(new AnswerRoom(answers, 'a' as AccountId), 'next', 1)
    large.release()
    await next
    expect(begun).to.deep.equal(['large', 'next'])
  })

  it('holds one answer of a call at a time, so that two calls never wait for each other', async () => {
    const answers = budgetOf(60, 60)
    const [first, second] = ['a', 'b'].map((account) => new AnswerRoom(answers, account as AccountId)) as [
      AnswerRoom,
      AnswerRoom,
    ]
    await Promise.all([taking(first, 'first', 10), taking(second, 'second', 10)])
    const larger = [taking(first, 'first again', 20), taking(second, 'second again', 20)]
    await larger[0]
    first.close()
    await larger[1]
    expect(begun).to.deep.equal(['first', 'second', 'first again', 'second again'])
  })

  it('is given back by a call that has ended while it waited', async () => {
    const answers = budgetOf(60, 60)
    const [holding, ended] = ['a', 'b'].map((account) => new AnswerRoom(answers, account as AccountId)) as [
      AnswerRoom,
      AnswerRoom,
    ]
    await taking(holding, 'holding', 20)
    const late = taking(ended, 'late', 20)
    ended.close()
    holding.close()
    await late
    await taking(new AnswerRoom(answers, 'c' as AccountId), 'next', 20)
  })
})
