/** one-api: which versions are read, which settings have no counterpart, and what its channels speak. */
import type { QuotaGateway } from './channels.ts'
import { anthropic, openai, openrouter } from './channels.ts'

/** one-api. The numbers of its channels are in its relay/channeltype/define.go. */
export const ONE_API: QuotaGateway = {
  versions: 'one-api v0.6.10',
  leftOut: [
    {
      table: 'redemptions',
      what: 'codes',
      reason: 'codes are not imported: create new ones by codes create',
    },
    { table: 'logs', what: 'calls', reason: 'records of calls are not imported: they have other units' },
  ],
  channels: {
    1: openai('https://api.openai.com/v1'),
    8: openai(null),
    14: anthropic('https://api.anthropic.com'),
    17: openai('https://dashscope.aliyuncs.com/compatible-mode/v1', '/compatible-mode/v1'),
    19: openai('https://ai.360.cn/v1'),
    20: openrouter('https://openrouter.ai/api/v1'),
    24: openai('https://generativelanguage.googleapis.com/v1beta/openai', '/v1beta/openai'),
    25: openai('https://api.moonshot.cn/v1'),
    26: openai('https://api.baichuan-ai.com/v1'),
    27: openai('https://api.minimax.chat/v1'),
    28: openai('https://api.mistral.ai/v1'),
    29: openai('https://api.groq.com/openai/v1'),
    30: openai('http://localhost:11434/v1'),
    31: openai('https://api.lingyiwanwu.com/v1'),
    32: openai('https://api.stepfun.com/v1'),
    36: openai('https://api.deepseek.com/v1'),
    39: openai('https://api.together.xyz/v1'),
    40: openai('https://ark.cn-beijing.volces.com/api/v3', '/api/v3'),
    41: openai('https://api.novita.ai/v3/openai', ''),
    44: openai('https://api.siliconflow.cn/v1'),
    45: openai('https://api.x.ai/v1'),
    50: openai(null),
  },
}
