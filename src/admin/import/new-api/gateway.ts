/** new-api: which versions are read, which settings have no counterpart, and what its channels speak. */
import type { QuotaGateway } from '../one-api/channels.ts'
import { anthropic, openai, openrouter } from '../one-api/channels.ts'

/** new-api. The numbers of its channels are in its constant/channel.go. */
export const NEW_API: QuotaGateway = {
  versions: 'new-api v0.10',
  leftOut: [
    {
      table: 'redemptions',
      what: 'codes',
      reason: 'codes are not imported: create new ones by codes create',
    },
    {
      table: 'user_subscriptions',
      what: 'subscriptions',
      reason: 'subscriptions are not imported: grant what is left of them by hand',
    },
    { table: 'top_ups', what: 'payments', reason: 'payments are not imported: only balances are' },
    {
      table: 'passkey_credentials',
      what: 'passkeys',
      reason: 'passkeys belong to the old host name: users register new ones',
    },
    { table: 'two_fas', what: 'second factors', reason: 'second factors are not imported: users set up new ones' },
    {
      table: 'user_oauth_bindings',
      what: 'linked identities',
      reason: 'linked identities are not imported: users link them again',
    },
    { table: 'logs', what: 'calls', reason: 'records of calls are not imported: they have other units' },
  ],
  channels: {
    1: openai('https://api.openai.com/v1'),
    4: openai('http://localhost:11434/v1'),
    14: anthropic('https://api.anthropic.com'),
    17: openai('https://dashscope.aliyuncs.com/compatible-mode/v1', '/compatible-mode/v1'),
    19: openai('https://api.360.cn/v1'),
    20: openrouter('https://openrouter.ai/api/v1'),
    24: openai('https://generativelanguage.googleapis.com/v1beta/openai', '/v1beta/openai'),
    25: openai('https://api.moonshot.cn/v1'),
    26: openai('https://open.bigmodel.cn/api/paas/v4', '/api/paas/v4'),
    27: openai('https://api.perplexity.ai', ''),
    31: openai('https://api.lingyiwanwu.com/v1'),
    35: openai('https://api.minimax.chat/v1'),
    38: openai('https://api.jina.ai/v1'),
    40: openai('https://api.siliconflow.cn/v1'),
    42: openai('https://api.mistral.ai/v1'),
    43: openai('https://api.deepseek.com/v1'),
    45: openai('https://ark.cn-beijing.volces.com/api/v3', '/api/v3'),
    46: openai('https://qianfan.baidubce.com/v2', '/v2'),
    47: openai(null),
    48: openai('https://api.x.ai/v1'),
    53: openai('https://llm.submodel.ai/v1'),
  },
}
