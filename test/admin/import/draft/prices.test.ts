import { expect } from 'chai'
import { addressOf, modalityOf } from '../../../../src/admin/import/draft/draft.ts'
import type { DraftPrice } from '../../../../src/admin/import/draft/draft.ts'
import { writtenPrice } from '../../../../src/admin/import/draft/prices.ts'
import { exactOf } from '../../../../src/admin/import/exact.ts'

const perToken = (input: string, output: string): DraftPrice => ({
  for: 'token',
  input: exactOf(input)!,
  output: exactOf(output)!,
  cachedInput: null,
  cacheWrite: null,
})

describe('prices of a draft', () => {
  it('are whole credits for as many tokens as that takes, and rounded up only if no number of them is enough', () => {
    for (const [price, fields, isRounded] of [
      [perToken('0.0025', '0.01'), { input: 2500, output: 10_000, perTokens: 1_000_000, minimum: 1 }, false],
      [perToken('0.00000015', '0'), { input: 15, output: 0, perTokens: 100_000_000, minimum: 1 }, false],
      [perToken('0.00000000015', '1'), { input: 1, output: 1_000_000_000, perTokens: 1_000_000_000, minimum: 1 }, true],
      [perToken('5000', '20000'), { input: 5_000_000, output: 20_000_000, perTokens: 1000, minimum: 1 }, false],
    ] as const)
      expect(writtenPrice({ modality: 'chat', price })).to.deep.equal({ fields: { pricing: fields }, isRounded })
  })

  it('state that a model is free, and have no form for what the catalogue cannot charge', () => {
    const price: DraftPrice = { for: 'call', amount: exactOf('0')! }
    expect(writtenPrice({ modality: 'image', price })?.fields).to.deep.equal({ credits: 0, free: true })
    expect(writtenPrice({ modality: 'chat', price: perToken('0', '0') })?.fields).to.deep.include({ free: true })
    expect(writtenPrice({ modality: 'image', price: perToken('1', '1') })).to.equal(null)
    expect(writtenPrice({ modality: 'embedding', price })).to.equal(null)
    expect(writtenPrice({ modality: 'chat', price: { for: 'call', amount: exactOf('1e30')! } })).to.equal(null)
  })

  it('tell kinds of models by their names', () => {
    for (const [kind, names] of Object.entries({
      chat: ['gpt-4o', 'claude-opus-4-1', 'deepseek-chat', 'gemini-2.5-flash'],
      embedding: ['text-embedding-3-small', 'bge-m3'],
      rerank: ['bge-reranker-v2-m3', 'jina-rerank'],
      image: ['dall-e-3', 'gpt-image-1', 'black-forest-labs/flux-1.1-pro', 'mj_imagine'],
      video: ['sora-2', 'veo-3.0-generate-001'],
      speech: ['tts-1', 'gpt-4o-mini-tts'],
      transcription: ['whisper-1', 'gpt-4o-transcribe'],
    }))
      for (const name of names) expect(modalityOf(name), name).to.equal(kind)
  })

  it('are of upstreams at addresses without secrets', () => {
    expect(addressOf('https://a.example/v1/')).to.equal('https://a.example/v1')
    for (const text of ['ftp://a', 'a.example', '', 'https://me:secret@a.example', 'https://a.example/?key=secret'])
      expect(addressOf(text), text).to.equal(null)
  })
})
