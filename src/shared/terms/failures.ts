/** Why an automatic top-up failed: codes of ours, or what the provider calls a decline. Pure. */
import type { Language } from './languages.ts'

/** The provider has the card no more, or knows it in its other mode only. */
export const CARD_GONE = 'card_gone'
/** What it buys is not in the catalogue any more. */
export const NOT_SOLD = 'not_sold'
/** Another payment would be beyond what the owner allows per month. */
export const MONTHLY_CAP = 'monthly_cap'

const CONFIRM = 'The bank wants you to confirm the payment yourself: buy credits on the credits page.'
const INCORRECT = 'The details of the card are no longer correct.'

const WORDS: Record<string, string> = {
  [CARD_GONE]: 'The saved card is no longer known to our payment provider.',
  [NOT_SOLD]: 'What it buys is no longer sold.',
  [MONTHLY_CAP]: 'The most that you allow per month is used up.',
  insufficient_funds: 'The card has insufficient funds.',
  withdrawal_count_limit_exceeded: 'The card has reached its limit.',
  card_velocity_exceeded: 'The card has reached its limit.',
  expired_card: 'The card has expired.',
  incorrect_number: INCORRECT,
  invalid_account: INCORRECT,
  incorrect_cvc: INCORRECT,
  authentication_required: CONFIRM,
  requires_action: CONFIRM,
  currency_not_supported: 'The card does not pay in this currency.',
}

const DECLINED = 'The card was declined.'

const IN_CHINESE: Record<string, string> = {
  [WORDS[CARD_GONE]!]: '支付服务商已不再保存此银行卡。',
  [WORDS[NOT_SOLD]!]: '所购内容已停止销售。',
  [WORDS[MONTHLY_CAP]!]: '已达到您设定的每月上限。',
  [WORDS.insufficient_funds!]: '银行卡余额不足。',
  [WORDS.withdrawal_count_limit_exceeded!]: '银行卡已达到限额。',
  [WORDS.expired_card!]: '银行卡已过期。',
  [INCORRECT]: '银行卡信息已失效。',
  [CONFIRM]: '银行要求您本人确认付款：请在额度页面购买。',
  [WORDS.currency_not_supported!]: '银行卡不支持此货币。',
  [DECLINED]: '银行卡被拒绝。',
}

/** A reason in words, for the owner: one sentence. What only the bank should know (a stolen card) stays general. */
export function failureWords(failure: string, language: Language = 'en'): string {
  const words = Object.hasOwn(WORDS, failure) ? WORDS[failure]! : DECLINED
  return language === 'zh-CN' ? inChinese(words) : words
}

/** A sentence of `failureWords`, or any other as it is, in Chinese. */
export const inChinese = (words: string): string => IN_CHINESE[words] ?? words
