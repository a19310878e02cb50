import type { ErrorCode } from '../../../shared/platform/errors.ts'
import { inChinese } from '../../../shared/terms/failures.ts'
import type { Texts } from '../english.ts'

/** By their codes, where the server has no sentence of its own. `invalid_request` always has one. */
export const BY_CODE: Readonly<Record<Exclude<ErrorCode, 'invalid_request'>, string>> = {
  invalid_json: '请求正文必须是 JSON 对象。',
  unsupported_model: '没有此模型，或此接口不提供该模型。',
  invalid_prompt: '提示词为必填项，最多 2,000 个字符。',
  invalid_messages: 'messages 为必填项，且必须是非空的消息列表。',
  context_length_exceeded: '消息超出此模型的长度限制。',
  previous_response_not_found: '找不到此请求引用的先前响应。',
  content_policy: '此请求的内容不予提供。',
  upstream_refused: '模型服务商拒绝了此请求。',
  invalid_email: '邮箱地址无效。',
  password_too_short: '密码至少需要 8 个字符。',
  password_too_long: '密码最多 72 个字符。',
  password_needs_letter_and_digit: '密码必须至少包含一个字母和一个数字。',
  wrong_password: '当前密码不正确。',
  invalid_token: '此链接无效、已过期或已被使用。',
  already_verified: '此邮箱已验证。',
  mail_failed: '邮件无法发送。',
  invalid_amount: '此金额无法付款或退款。',
  invalid_code: '兑换码不存在、已过期或已停用。',
  no_card: '此账户没有已保存的银行卡。请购买一次额度，并在付款页面保存银行卡。',
  invalid_signature: '事件的签名无效。',
  unauthorized: 'API 密钥或会话缺失、未知、已过期或已撤销。',
  invalid_credentials: '邮箱或密码不正确。',
  invalid_ticket: '此次登录已过期或已结束，请重新登录。',
  insufficient_credits: '余额不足以支付此次调用，没有扣费。',
  key_budget_exceeded: '此密钥的预算已用完，没有扣费。',
  member_budget_exceeded: '您在此账户的预算已用完，没有扣费。',
  credits_in_use: '此次调用所需的额度被运行中的调用冻结，没有扣费。请稍后重试。',
  ip_not_allowed: '此密钥不能在该 IP 地址使用。',
  model_not_allowed: '此密钥不能调用该模型。',
  account_suspended: '此账户已停用。',
  email_unverified: '请先验证您的邮箱。',
  second_factor_required: '此服务要求第二重验证，请先设置。',
  proof_required: '请确认是您本人：输入密码或验证码，或重新登录。',
  forbidden: '此账户无权进行该操作。',
  model_not_found: '没有此模型，或此密钥不能调用该模型。',
  not_found: '内容不存在，或已被移除。',
  method_not_allowed: '此路径不支持该方法。',
  too_many_passkeys: '最多 20 个通行密钥，请先移除一个。',
  identity_taken: '此登录服务账户已被关联。',
  last_sign_in: '这是您最后的登录方式，请先添加另一种。',
  email_taken: '此邮箱已注册账户。',
  conflict: '内容已被其他人更改，您的请求没有生效。',
  too_many_keys: '每个账户最多 100 个有效密钥，请先撤销一个。',
  already_member: '此人已是成员。',
  last_owner: '账户必须有一位所有者。',
  too_many_webhooks: '最多 10 个 Webhook，请先移除一个。',
  not_ready: '视频尚未生成完毕。',
  code_used: '此兑换码已被使用。',
  credits_spent: '此付款的部分额度已使用。',
  result_expired: '此调用的结果已过期。',
  payload_too_large: '请求正文过大。',
  unsupported_media_type: '请求正文须为 UTF-8 的 application/json，不使用 Content-Encoding。',
  idempotency_conflict: '此 Idempotency-Key 已用于另一个请求。',
  price_above_limit: '此次调用的费用会超过 X-Max-Credits，没有扣费。',
  price_changed: '模型价格与 X-Price-Version 不符，没有扣费。',
  upgrade_required: '此网关不支持 WebSocket，请使用 HTTP。',
  rate_limited: '请求过多，请稍后重试。',
  upstream_rate_limited: '模型服务商暂时不接受更多请求。',
  internal_error: '服务出现问题。',
  upstream_failed: '上游失败，此次调用的费用已退款。',
  upstream_unavailable: '此模型没有可用的上游。',
  payments_unavailable: '支付服务商暂时不可用，没有付款。请稍后重试。',
  upstream_overloaded: '模型服务商过载。',
  overloaded: '服务过载，没有扣费。请稍后重试。',
  service_unavailable: '部分服务暂时不可用，没有扣费。',
}

/** Sentences of the server that have more in them than their code, and others that are no errors. */
const SENTENCES: readonly (readonly [RegExp, string])[] = [
  [/^to must not be before from\.$/, '结束时间不能早于开始时间。'],
  [/^email must be the address of your account\.$/, '请输入您账户的邮箱。'],
  [/^email is your address already\.$/, '这已是您的邮箱。'],
  [/^name must be the name of the organisation\.$/, '请输入组织的名称。'],
  [/^cursor is not valid for this list\.$/, '此页已失效，请从第一页开始。'],
  [/^The callback secret was shown already\..*$/, '回调密钥已显示过，请轮换以获取新密钥。'],
  [/^The webhook is disabled\..*$/, 'Webhook 已停用，请先启用。'],
  [/^You cannot suspend or activate your own account\.$/, '您不能停用或启用自己的账户。'],
  [/^You own (\d+) organisations\..*$/, '您已拥有 $1 个组织，请先删除一个。'],
  [/^You can make at most (\d+) organisations a day\.$/, '每天最多创建 $1 个组织。'],
  [/^Your own account has no members\..*$/, '个人账户没有成员，请创建组织。'],
  [/^There are (\d+) members and invitations already\.$/, '成员和邀请已达 $1 个。'],
  [/^budget cannot be set for the owner\.$/, '不能为所有者设置预算。'],
  [/^Only its owner can delete an organisation\.$/, '只有所有者可以删除组织。'],
  [/^This is your own account: .*$/, '这是您自己的账户，须由其他运营人员操作。'],
  [/^You made this code: .*$/, '此兑换码由您创建，仅供其他账户使用。'],
  [/^This passkey was added already\.$/, '此通行密钥已添加。'],
  [/^You have an authenticator app already\..*$/, '您已有验证器应用，请先移除。'],
  [/^No app is being added\.$/, '没有正在添加的验证器应用。'],
  [/^The code is wrong or was used\.$/, '验证码不正确或已被使用。'],
  [/^This passkey is not known here, .*$/, '通行密钥未知，或未能验证您的身份。'],
  [/^Only a paid payment can be refunded\.$/, '只有已付款的付款可以退款。'],
  [/^No money of this payment was found .*$/, '支付服务商处没有找到此付款的款项。'],
  [/^(\d+) of these credits are already spent\.$/, '其中 $1 点额度已使用。'],
  [/^This account has redeemed this code already\.$/, '此账户已使用过该兑换码。'],
  [/^This code was redeemed with your e-mail address already\.$/, '您的邮箱已使用过该兑换码。'],
  [/^Only packs can be bought\.$/, '只能购买套餐。'],
  [/^This payment is not in review\.$/, '此付款无需核查。'],
  [/^This is for (.*) of the account\.$/, '仅限账户的所有者和管理员。'],
  [/^There is no model "(.*)" at the moment\.$/, '目前没有模型“$1”。'],
  [
    /^Operators may sign in with a password alone\..*$/,
    '运营人员可以仅用密码登录。设置 SECOND_FACTOR=operators 以要求第二重验证。',
  ],
  [/^refuses the key \((\d+)\)$/, '拒绝此密钥（$1）'],
  [/^accepts the key$/, '接受此密钥'],
  [/^answers$/, '有响应'],
  [/^answers (\d+): does not refuse the key$/, '响应 $1，未拒绝此密钥'],
  [/^answers (\d+)$/, '响应 $1'],
  [/^does not answer: (.*)$/, '没有响应：$1'],
]

/** Ends of sentences about a field. */
const FAULTS: readonly (readonly [RegExp, string])[] = [
  [/^is required\.$/, '为必填项。'],
  [/^is not valid\.$/, '无效。'],
  [/^must not be empty\.$/, '不能为空。'],
  [/^must be a whole number from ([\d,]+) to ([\d,]+)\.$/, '必须是 $1 到 $2 的整数。'],
  [/^must be a whole number\.$/, '必须是整数。'],
  [/^must be a number\.$/, '必须是数字。'],
  [/^must be at least ([\d,]+)\.$/, '不能小于 $1。'],
  [/^must be at most ([\d,]+)\.$/, '不能大于 $1。'],
  [/^must be at most that of the account, ([\d,]+)\.$/, '不能大于账户的限制 $1。'],
  [/^must be more than ([\d,]+)\.$/, '必须大于 $1。'],
  [/^must (?:be|have) (?:a string of )?at most ([\d,]+) (?:characters|elements)\.$/, '最多 $1 个。'],
  [/^must have at least ([\d,]+) (?:characters|elements)\.$/, '至少 $1 个。'],
  [/^must be (?:in the future|after now)\.$/, '必须晚于当前时间。'],
  [/^must be a day.*$/, '必须是日期。'],
  [/^must be one of (.*)\.$/, '必须是以下之一：$1。'],
  [/^must be an IP address or a range.*$/, '必须是 IP 地址或 CIDR 网段，例如 203.0.113.0/24。'],
  [/^must not have line breaks or other control characters\.$/, '不能包含换行或其他控制字符。'],
  [/^must not have invisible characters\.$/, '不能包含不可见字符。'],
  [/^must not contain an address.*$/, '不能包含网址或域名。'],
  [/^must be an https.*$/, '必须是 https:// 开头的地址。'],
]

/** The text of the first pattern that matches. */
function matched(list: readonly (readonly [RegExp, string])[], text: string): string | undefined {
  const [pattern, words] = list.find(([one]) => one.test(text)) ?? []
  return pattern && text.replace(pattern, words!)
}

/** Sentences of the console itself are Chinese already, whatever code they have. */
const isChinese = (text: string): boolean => /\p{Script=Han}/u.test(text)

export const errors: Texts['errors'] = {
  sentence: (sentence, code) => {
    const known = matched(SENTENCES, sentence)
    if (known !== undefined || isChinese(sentence)) return known ?? sentence
    return (BY_CODE as Record<string, string>)[code ?? ''] ?? inChinese(sentence)
  },
  fault: (name, fault) => `${name}${matched(FAULTS, fault) ?? ` ${fault}`}`,
}
