import type { Texts } from '../english.ts'

const kinds: Texts['words']['kinds'] = {
  chat: '对话',
  image: '图片',
  video: '视频',
  embedding: '嵌入',
  moderation: '审核',
  rerank: '重排序',
  speech: '语音合成',
  transcription: '转写',
}

export const words: Texts['words'] = {
  justNow: '刚刚',
  credits: (number) => `${number} 点`,
  minutes: (minutes, seconds) => `${minutes} 分 ${seconds} 秒`,
  price: {
    search: (price) => `每次搜索 ${price}`,
    characters: (price) => `每百万字符 ${price}`,
    cached: (price) => ` · 缓存 ${price}`,
    output: (price) => ` · 输出 ${price}`,
    call: (price) => ` · 每次调用 ${price}`,
    tokens: (input, others, call) => `每百万 token：输入 ${input}${others}${call}`,
    second: (price) => `每秒 ${price}`,
    from: (price) => `${price} 起`,
    each: (price, kind) => `每次${kinds[kind]} ${price}`,
  },
  kinds,
  plurals: kinds,
  nouns: {
    call: ['次调用', '次调用'],
    unknownCall: ['次未知调用', '次未知调用'],
    event: ['种事件', '种事件'],
    payment: ['笔付款', '笔付款'],
    deadMail: ['封未送达的邮件', '封未送达的邮件'],
  },
  anyKind: '所有类型',
  statuses: {
    queued: '排队中',
    running: '运行中',
    succeeded: '成功',
    failed: '失败',
    rejected: '已拒绝',
  },
  entries: {
    grant: '收到额度',
    charge: '扣费',
    settlement: '结算',
    refund: '退款',
    expiry: '过期',
    adjustment: '扣减',
    collection: '偿还欠款',
    reversal: '收回',
    reinstatement: '返还',
  },
  origins: {
    signup: '注册赠送',
    purchase: '购买',
    bonus: '奖励',
    adjustment: '调整',
  },
}
