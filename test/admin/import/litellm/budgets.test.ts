import { expect } from 'chai'
import { exactOf } from '../../../../src/admin/import/exact.ts'
import { plannedBudget, plannedLimits } from '../../../../src/admin/import/litellm/budgets.ts'
import { rules } from '../reading.ts'

describe('budgets of litellm', () => {
  const now = new Date('2026-05-01T00:00:00Z')
  const limits = { tpm_limit: null, rpm_limit: null, max_parallel_requests: null, max_budget: exactOf('2.5') }
  const planned = (duration: string | null, resetAt: Date | null = null) => {
    const listed: string[] = []
    const its = { ...limits, budget_duration: duration, budget_reset_at: resetAt }
    const list = (reason: string): number => listed.push(reason)
    return {
      budget: plannedBudget(its, exactOf('0.5'), { rules: rules('1000'), now, list }),
      isListed: listed.length > 0,
    }
  }

  it('are for the same period, or for the next longer one, which is listed', () => {
    for (const [duration, period, isListed] of [
      [null, 'total', false],
      ...['1d', '24h', '86400s'].map((text) => [text, 'day', false] as const),
      ...['7d', '1w'].map((text) => [text, 'week', false] as const),
      ...['28d', '30d', '31d', '1mo'].map((text) => [text, 'month', false] as const),
      ['1h', 'day', true],
      ['2d', 'week', true],
      ['14d', 'month', true],
      ['90d', 'total', true],
      ['sometimes', 'total', true],
    ] as const)
      expect(planned(duration), String(duration)).to.deep.equal({
        budget: { credits: 2500n, period, spentCredits: 500n },
        isListed,
      })
  })

  it('count what was spent in the running period alone', () => {
    expect(planned('1d', new Date(now.getTime() + 1)).budget?.spentCredits).to.equal(500n)
    expect(planned('1d', now).budget?.spentCredits).to.equal(0n)
  })

  it('have limits of 0, which close a key, and limits beyond ours, which are none', () => {
    expect(plannedLimits({ ...limits, rpm_limit: 0n }).isClosed).to.equal(true)
    expect(
      plannedLimits({ rpm_limit: 60n, tpm_limit: 2_000_000_000n, max_parallel_requests: 2_000_000n }),
    ).to.deep.equal({ rateLimit: 60, tokensPerMinute: 2_000_000_000, maxOutstanding: null, isClosed: false })
  })
})
