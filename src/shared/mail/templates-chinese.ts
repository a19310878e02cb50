/**
 * What the mails say in simplified Chinese. As in English, the only user input in them are addresses, and the names of
 * keys and organisations.
 */
import { moneyText } from '../terms/currencies.ts'
import { CARD_GONE, MONTHLY_CAP, failureWords } from '../terms/failures.ts'
import type { BudgetNotice, InvitationNotice, MailDetails, MoneyMailKind } from './mails.ts'
import type { Action, Draft, MailContent } from './render.ts'
import { PRODUCT, countedCredits, quoted, write as writeIn } from './render.ts'

const write = (draft: Draft): MailContent => writeIn(draft, 'zh-CN')

const linkTo = (baseUrl: string, page: string, label: string, token: string): Action => ({
  label,
  url: `${baseUrl}/${page}#token=${token}`,
  otherwise: `如果链接无法打开，请访问 ${baseUrl}/${page} 并输入此代码： ${token}`,
})

/** Asks the owner of an address to confirm it. */
export const verificationMail = (baseUrl: string, address: string, token: string): MailContent =>
  write({
    subject: `验证您的 ${PRODUCT} 邮箱`,
    paragraphs: [`${address} 在 ${baseUrl} 注册了账户。`, '如果是您本人操作，请在 24 小时内验证邮箱：'],
    action: linkTo(baseUrl, 'verify', '验证邮箱', token),
    closing: ['如果不是您本人操作，请忽略此邮件：可能有人输错了邮箱。'],
  })

/** Lets the owner of an address choose a new password. */
export const resetMail = (baseUrl: string, address: string, token: string): MailContent =>
  write({
    subject: `重置您的 ${PRODUCT} 密码`,
    paragraphs: [
      `有人请求重置 ${baseUrl} 上账户 ${address} 的密码。`,
      '如果是您本人操作，请在 30 分钟内打开以下页面并设置新密码：',
    ],
    action: linkTo(baseUrl, 'reset', '设置新密码', token),
    closing: [
      '链接仅可使用一次，且只有最新的链接有效。更改密码后，所有设备都会退出登录。如果此邮箱尚未验证，账户的所有 API 密钥也会失效。',
      '如果不是您本人操作，请忽略此邮件，密码不会更改。',
    ],
  })

/** Lets the owner of an address complete a sign-in at a provider, which has not verified the address. */
export const signInLinkMail = (baseUrl: string, address: string, token: string): MailContent =>
  write({
    subject: `完成登录 ${PRODUCT}`,
    paragraphs: [
      `有人正通过登录服务登录 ${baseUrl}，并填写了邮箱 ${address}。`,
      '如果是您本人操作，请在 10 分钟内用发起登录的浏览器打开以下页面：',
    ],
    action: linkTo(baseUrl, 'sign-in/mail', '完成登录', token),
    closing: [
      '链接仅可使用一次，且不能在其他浏览器中使用。',
      '如果不是您本人操作，请忽略此邮件，您的账户不会关联任何登录方式。',
    ],
  })

/** Asks the owner of an address to confirm that an account may have it. */
export const addressMail = (baseUrl: string, address: string, token: string): MailContent =>
  write({
    subject: `验证您的 ${PRODUCT} 新邮箱`,
    paragraphs: [`有人请求将 ${address} 设为其在 ${baseUrl} 的账户邮箱。`, '如果是您本人操作，请在 24 小时内验证：'],
    action: linkTo(baseUrl, 'new-address', '使用此邮箱', token),
    closing: ['链接仅可使用一次，且只有最新的链接有效。', '如果不是您本人操作，请忽略此邮件，不会有任何更改。'],
  })

/** Reports to an owner who just proved their address what can use the account, with a link that ends it all. */
export const accessMail = (
  baseUrl: string,
  address: string,
  token: string,
  { keys, sessions }: { keys: number; sessions: number },
): MailContent =>
  write({
    subject: `哪些可以使用您的 ${PRODUCT} 账户`,
    paragraphs: [
      `${address} 现在属于 ${baseUrl} 上的一个账户。`,
      `${countedCredits(keys)} 个 API 密钥和 ${countedCredits(sessions)} 个会话可以使用此账户。`,
      '如果在您之前有他人注册了此账户，或其中有不属于您的，请在 24 小时内全部停用并设置新密码：',
    ],
    action: linkTo(baseUrl, 'access', '停用所有密钥和会话', token),
    closing: ['链接仅可使用一次。如果全部属于您，则无需任何操作。'],
  })

/** Notifies the old address of an account that a new one was requested, or has replaced it. */
export const addressNotice = (baseUrl: string, { address, step }: MailDetails): MailContent =>
  write(
    step === 'changed'
      ? {
          subject: `您的 ${PRODUCT} 账户邮箱已更改`,
          paragraphs: [`您在 ${baseUrl} 的账户邮箱已改为 ${address}，今后请使用该邮箱登录。`],
          action: { label: '打开控制台', url: baseUrl },
          closing: ['如果不是您本人操作，请立即联系此服务的运营方。'],
        }
      : {
          subject: `您的 ${PRODUCT} 账户申请更换邮箱`,
          paragraphs: [
            `知道您密码的人请求将您在 ${baseUrl} 的账户邮箱改为 ${address}。打开发往该邮箱的邮件中的链接后生效。`,
          ],
          action: { label: '打开设置', url: `${baseUrl}/settings` },
          closing: ['如果不是您本人操作，请立即更改密码：该链接和其他所有会话都会失效。'],
        },
  )

/** What changed of how a user signs in, as the subject and the sentence of a mail. */
const SIGN_IN_CHANGES: Record<string, { subject: string; sentence: string }> = {
  totp_added: { subject: '已添加验证器应用', sentence: '今后登录需要该应用的验证码。其他所有会话已结束。' },
  totp_removed: { subject: '已移除验证器应用', sentence: '登录不再需要验证码，恢复码也已失效。' },
  recovery_code_used: { subject: '恢复码已被使用', sentence: '有人使用您的密码和一个恢复码登录，该恢复码已失效。' },
  second_factor_reset: { subject: '运营方已移除第二重验证', sentence: '登录仅需密码。所有会话已结束。' },
  passkey_added: { subject: '已添加通行密钥', sentence: '它无需密码即可登录，也是您的第二重验证之一。' },
  passkey_removed: { subject: '已移除通行密钥', sentence: '它不能再用于登录。' },
  passkey_refused: {
    subject: '通行密钥被拒绝',
    sentence: '有人使用了您的通行密钥，但它疑似复制品：签名次数比之前少。除非您知道原因，否则请移除它。',
  },
  identity_linked: {
    subject: '已关联登录服务账户',
    sentence: '它无需密码即可登录您的账户。已关联的账户列于设置中。',
  },
  identity_removed: { subject: '已取消关联登录服务账户', sentence: '它不能再用于登录。' },
}

/** Notifies a user that how they sign in has changed. `details`: the change. */
export function signInMail(baseUrl: string, { change }: MailDetails): MailContent {
  const { subject, sentence } = SIGN_IN_CHANGES[String(change)]!
  return write({
    subject: `${subject}（${PRODUCT}）`,
    paragraphs: [`您在 ${baseUrl} 的账户：${subject}。`, sentence],
    action: { label: '打开设置', url: `${baseUrl}/settings` },
    closing: ['如果不是您本人操作，请立即更改密码，并联系此服务的运营方；如果是，则无需任何操作。'],
  })
}

/** Notifies the owner of a key that part of its budget is used. */
export function budgetMail(baseUrl: string, notice: BudgetNotice): MailContent {
  const { percent, used, credits, resetsAt } = notice
  const { thing, who, whose, action } = ofBudget(baseUrl, notice)
  const isSpent = percent === 100
  return write({
    subject: isSpent ? `${PRODUCT} ${thing}的预算已用完` : `${PRODUCT} ${thing}的预算已使用 ${percent}%`,
    paragraphs: [
      `${baseUrl} 上的${who}已使用预算 ${countedCredits(credits)} 点中的 ${countedCredits(used)} 点。`,
      `${isSpent ? '在预算重置或提高之前' : '预算用完后'}，使用${whose}的调用会被拒绝。`,
      resetsAt
        ? `预算将于 ${resetsAt.toISOString().slice(0, 16).replace('T', ' ')} UTC 重置。`
        : '这是总预算，不会重置。',
    ],
    action,
    closing: ['预算使用到 80% 和 100% 时各发送一封邮件，每个周期各最多一次。'],
  })
}

/** What a mail about a budget reports of a key, of its reader as a member, or of another member. */
function ofBudget(baseUrl: string, { whose: of }: BudgetNotice) {
  const myKeys = { label: '查看我的密钥', url: `${baseUrl}/keys` }
  if ('key' in of) return { thing: '密钥', who: `API 密钥 ${quoted(of.key)} `, whose: '此密钥', action: myKeys }
  const { email, organisation, isYou } = of
  return {
    thing: '成员',
    who: `组织 ${quoted(organisation)} 的成员${isYou ? '（您）' : ` ${email} `}`,
    whose: `${isYou ? '您' : '该成员'}在此组织的密钥`,
    action: isYou ? myKeys : { label: '查看成员', url: `${baseUrl}/members` },
  }
}

/** Invites somebody to an organisation, by the link. */
export const invitationMail = (
  baseUrl: string,
  address: string,
  token: string,
  { organisation, invitedBy, role }: Pick<InvitationNotice, 'organisation' | 'invitedBy' | 'role'>,
): MailContent =>
  write({
    subject: `邀请您加入 ${PRODUCT} 的组织`,
    paragraphs: [
      `${invitedBy} 邀请您加入 ${baseUrl} 上的组织 ${quoted(organisation)}，成为${role === 'admin' ? '管理员' : '成员'}。`,
      `如需接受，请在 7 天内使用 ${address} 登录或注册：`,
    ],
    action: linkTo(baseUrl, 'invitation', '打开邀请', token),
    closing: ['链接仅可使用一次。如果不想加入，请忽略此邮件，不会有任何更改。'],
  })

/** A mail that shows that mails arrive. */
export const testMail = (baseUrl: string, address: string): MailContent =>
  write({
    subject: `来自 ${PRODUCT} 的测试邮件`,
    paragraphs: [`这是在 ${baseUrl} 为 ${address} 请求的测试邮件。`, '您可以收到此服务的邮件。'],
    closing: ['无需任何操作。'],
  })

/** A mail about money. `details` are those of its request. */
export const moneyMail = (baseUrl: string, kind: MoneyMailKind, details: MailDetails): MailContent =>
  write(MONEY_MAILS[kind](baseUrl, details))

/** Notifies the owner of a key what an operator did to its secret. `details`: the name and the hint of the key. */
export const keyMail = (baseUrl: string, { name, hint, secret }: MailDetails): MailContent => {
  const key = `${quoted(String(name))}（${String(hint)}）`
  return write({
    subject: secret === 'ended' ? 'API 密钥已失效' : 'API 密钥已更换',
    paragraphs:
      secret === 'ended'
        ? [
            `${baseUrl} 的运营方已使您的密钥 ${key} 失效，使用它的程序会被拒绝。`,
            '请在控制台为它生成新的密钥，限制和用量会保留。',
          ]
        : [
            `${baseUrl} 的运营方已更换您的密钥 ${quoted(String(name))}，新密钥为 ${String(hint)}。`,
            '如果您不知道原因，请询问对方，或在控制台生成新的密钥。',
          ],
    action: { label: '打开我的密钥', url: `${baseUrl}/keys` },
    closing: ['运营方无法看到您生成的密钥。'],
  })
}

/** Notifies the owner of a webhook that it was disabled. `details`: its address, and why. */
export const webhookMail = (baseUrl: string, { url, reason }: MailDetails): MailContent =>
  write({
    subject: `${PRODUCT} Webhook 已停用`,
    paragraphs: [
      reason === 'gone'
        ? `您在 ${baseUrl} 的 Webhook ${String(url)} 响应 410 Gone，表示不再接收事件。`
        : `连续五天无法向您在 ${baseUrl} 的 Webhook ${String(url)} 投递事件。`,
      '不会再向它发送任何内容。等待中的事件保留 30 天，重新启用后发送。',
    ],
    closing: [`如需启用，请向它发送 {"disabled": false}：参阅 ${baseUrl}/docs 的 "Webhooks"。`],
  })

const balanceText = (credits: MailDetails[string] | undefined): string =>
  `账户余额为 ${countedCredits(credits)} 点。用完后，调用会被拒绝。`

const creditsPage = (baseUrl: string) => ({ label: '打开额度页面', url: `${baseUrl}/credits` })

const reasonOf = (failure: MailDetails[string] | undefined): string => failureWords(String(failure), 'zh-CN')

const MONEY_MAILS: Record<MoneyMailKind, (baseUrl: string, details: MailDetails) => Draft> = {
  receipt: (baseUrl, { credits, amountMinor, currency, receiptUrl, kind }) => ({
    subject: `收据：${countedCredits(credits)} 点额度`,
    paragraphs: [
      `您在 ${baseUrl} 的${kind === 'auto' ? '自动充值' : '购买'}已付款：` +
        `${moneyText(Number(amountMinor), String(currency))}，${countedCredits(credits)} 点额度。`,
      '额度已存入您的账户。',
    ],
    action: typeof receiptUrl === 'string' ? { label: '查看收据', url: receiptUrl } : creditsPage(baseUrl),
    closing: ['无需任何操作。'],
  }),
  low_balance: (baseUrl, { credits, threshold }) => ({
    subject: `您的 ${PRODUCT} 余额不足`,
    paragraphs: [
      `您在 ${baseUrl} 的账户余额为 ${countedCredits(credits)} 点，低于您设定的 ${countedCredits(threshold)} 点。`,
      '额度用完后，调用会被拒绝。',
    ],
    action: creditsPage(baseUrl),
    closing: ['余额每次低于该值时，您会收到一封此邮件。'],
  }),
  top_up_failed: (baseUrl, { failure, credits }) => ({
    subject: '自动充值失败',
    paragraphs: [
      `您在 ${baseUrl} 的自动充值失败：${reasonOf(failure)}没有付款。`,
      balanceText(credits),
      failure === MONTHLY_CAP
        ? '下个月（UTC）或提高上限后会恢复。在此之前，您可以自行购买额度。'
        : '如果余额仍然不足，几小时后会再次尝试；连续失败三次后会关闭。',
    ],
    action: creditsPage(baseUrl),
    closing: [failure === MONTHLY_CAP ? '此邮件每月发送一次。' : '连续失败时，此邮件仅发送一次。'],
  }),
  top_up_off: (baseUrl, { failure, credits }) => ({
    subject: '自动充值已关闭',
    paragraphs: [
      failure === CARD_GONE
        ? `您在 ${baseUrl} 的自动充值无法继续：${reasonOf(CARD_GONE)}`
        : `您在 ${baseUrl} 的自动充值连续失败三次：${reasonOf(failure)}`,
      '自动充值已关闭。没有付款。',
      ...(credits === undefined ? [] : [balanceText(credits)]),
      '如需重新开启，请先购买一次额度，并在付款页面保存银行卡。',
    ],
    action: creditsPage(baseUrl),
    closing: ['在此之前，余额用完后调用会被拒绝。'],
  }),
}
