import { expect } from 'chai'
import { languageAsked } from '../../../src/shared/terms/languages.ts'
import type { MailContent } from '../../../src/shared/mail/render.ts'
import * as english from '../../../src/shared/mail/templates-english.ts'
import { templatesIn } from '../../../src/shared/mail/templates.ts'

const { keyMail, moneyMail, resetMail, signInMail, testMail, verificationMail, webhookMail } = english

const token = 'T'.repeat(43)

describe('the mails', () => {
  const mails = {
    verification: {
      mail: verificationMail('https://gate.example', 'ada@example.com', token),
      link: `https://gate.example/verify#token=${token}`,
    },
    reset: {
      mail: resetMail('https://gate.example', 'ada@example.com', token),
      link: `https://gate.example/reset#token=${token}`,
    },
  }

  for (const [kind, { mail, link }] of Object.entries(mails)) {
    it(`have the same address and link in text and HTML (${kind})`, () => {
      expect(mail.text).to.contain('ada@example.com').and.to.contain(`\n${link}\n`)
      expect(mail.html).to.contain('ada@example.com').and.to.contain(`href="${link}"`).and.to.contain(`<br>${link}</p>`)
      expect(mail.subject).to.match(/^[ -~]{10,70}$/)
    })

    it(`name the code in words, for links that do not arrive as they were sent (${kind})`, () => {
      const [page] = link.split('#')
      for (const text of [mail.text, mail.html]) expect(text).to.contain(`open ${page} and enter this code: ${token}`)
    })

    it(`link to nothing else, and load nothing (${kind})`, () => {
      expect(new Set(mail.html.match(/href="[^"]*"/g))).to.deep.equal(new Set([`href="${link}"`]))
      expect(mail.html).not.to.match(/<(img|script|link|iframe|style)\b/i)
    })

    it(`have the token in the fragment, which no server and no log gets (${kind})`, () => {
      expect(new URL(link).hash).to.equal(`#token=${token}`)
      expect(`${new URL(link).pathname}${new URL(link).search}`).not.to.contain(token)
    })
  }

  it('are ASCII text with short lines, except for the link', () => {
    for (const { mail } of Object.values(mails)) {
      expect(mail.text).to.match(/^[\n -~]+$/)
    }
  })

  it('write numbers of credits as people read them', () => {
    const receipt = { credits: 10_500, amountMinor: 1000, currency: 'eur', receiptUrl: null, kind: 'pack' }
    const { subject, text } = moneyMail('https://gate.example', 'receipt', receipt)
    expect(subject).to.equal('Receipt: 10,500 credits')
    expect(text).to.contain('10.00 EUR for 10,500 credits.')
    const low = moneyMail('https://gate.example', 'low_balance', { credits: 1234, threshold: 5000 })
    expect(low.text).to.contain('has 1,234 credits left. You asked for an e-mail below 5,000.')
  })

  it('tell the owner of a key what an operator did to its secret, and show none', () => {
    const details = { name: 'the <b>server', hint: 'tg_abcd…wxyz' }
    const ended = keyMail('https://gate.example', { ...details, secret: 'ended' })
    expect(ended.text).to.contain('ended the secret of your key "the <b>server" (tg_abcd…wxyz)')
    expect(ended.text).to.contain('https://gate.example/keys')
    expect(ended.html).to.contain('the &lt;b&gt;server')
    expect(ended.subject).not.to.contain('server')
    expect(keyMail('https://gate.example', { ...details, secret: 'replaced' }).text).to.contain('a new secret')
  })

  it('say each change of how a user signs in, and what to do if it was not them', () => {
    for (const [change, subject] of [
      ['totp_added', 'An authenticator app was added'],
      ['totp_removed', 'The authenticator app was removed'],
      ['recovery_code_used', 'A recovery code was used'],
      ['second_factor_reset', 'The second factor was removed by an operator'],
      ['passkey_added', 'A passkey was added'],
      ['passkey_removed', 'A passkey was removed'],
      ['passkey_refused', 'A passkey was refused'],
      ['identity_linked', 'An account at a provider was connected'],
      ['identity_removed', 'An account at a provider was disconnected'],
    ] as const) {
      const mail = signInMail('https://gate.example', { change })
      expect(mail.subject).to.equal(`${subject} (Tollgate)`)
      expect(mail.text).to.contain('https://gate.example/settings').and.to.contain('change your password now')
    }
  })

  it('say which webhook was disabled and why, and how it is enabled', () => {
    const url = 'https://receiver.example/?<b>'
    const gone = webhookMail('https://gate.example', { url, reason: 'gone' })
    expect(gone.text).to.contain(url).and.to.contain('410')
    expect(gone.html).to.contain('?&lt;b&gt;')
    expect(gone.subject).not.to.contain('receiver')
    expect(webhookMail('https://gate.example', { url, reason: 'failing' }).text).to.contain('five days')
  })

  it('say in words why an automatic top-up failed, what is left, and what comes next', () => {
    const write = (kind: 'top_up_failed' | 'top_up_off', failure: string) =>
      moneyMail('https://gate.example', kind, { failure, credits: 1234 })
    const failed = write('top_up_failed', 'insufficient_funds')
    expect(failed.subject).to.equal('Automatic top-up failed')
    expect(failed.text).to.contain('The card has insufficient funds. Nothing was paid.')
    expect(failed.text).to.contain('has 1,234 credits left').and.to.contain('https://gate.example/credits')
    expect(failed.text).to.contain('tried again in some hours')
    expect(write('top_up_failed', 'stolen_card').text).to.contain('The card was declined.').and.not.to.contain('stolen')
    expect(write('top_up_failed', 'monthly_cap').text).to.contain('next month (UTC)').and.not.to.contain('tried again')
    expect(write('top_up_off', 'card_gone').text).to.contain('no longer known').and.not.to.contain('three times')
    expect(write('top_up_off', 'authentication_required').text).to.contain('three times in a row: The bank wants you')
  })

  it('are in Chinese for who reads Chinese: the same links, addresses and numbers, and nothing in English', () => {
    const [url, to] = ['https://gate.example', 'ada@example.com']
    const failing = { failure: 'insufficient_funds', credits: 1234 }
    const budget = { used: 80, credits: 100, resetsAt: new Date(0), percent: 80 } as const
    const member = { email: to, organisation: '组织', isYou: false }
    const write = (t: typeof english): MailContent[] => [
      ...[t.verificationMail, t.resetMail, t.addressMail].map((one) => one(url, to, token)),
      t.accessMail(url, to, token, { keys: 2, sessions: 1 }),
      ...['asked', 'changed'].map((step) => t.addressNotice(url, { address: to, step })),
      t.invitationMail(url, to, token, { organisation: '组织', invitedBy: 'bob@example.com', role: 'admin' }),
      t.testMail(url, to),
      ...['ended', 'replaced'].map((secret) => t.keyMail(url, { name: '服务器', hint: 'tg_abcd…wxyz', secret })),
      ...['gone', 'failing'].map((reason) => t.webhookMail(url, { url: 'https://receiver.example/', reason })),
      ...['totp_added', 'passkey_refused'].map((change) => t.signInMail(url, { change })),
      t.budgetMail(url, { ...budget, whose: { key: '服务器' } }),
      t.budgetMail(url, { ...budget, percent: 100, resetsAt: null, whose: member }),
      t.moneyMail(url, 'receipt', {
        credits: 10_500,
        amountMinor: 1000,
        currency: 'eur',
        receiptUrl: null,
        kind: 'pack',
      }),
      t.moneyMail(url, 'low_balance', { credits: 1234, threshold: 5000 }),
      ...(['top_up_failed', 'top_up_off'] as const).map((kind) => t.moneyMail(url, kind, failing)),
    ]
    const named = (text: string) => (text.match(/https?:[^\s"<，。]*[\w/=]|[\w.]+@[\w.]+\w|\d+,\d+/g) ?? []).toSorted()
    const [ours, theirs] = [write(templatesIn('en')), write(templatesIn('zh-CN'))]
    for (const [nth, { subject, text, html }] of theirs.entries()) {
      expect(named(text), subject).to.deep.equal(named(ours[nth]!.text))
      const words = `${subject} ${text}`.replace(
        /https?:\S+|\{.*\}|[\w.]+@[\w.]+|tg_\S+|Tollgate|API|UTC|EUR|T{43}/g,
        '',
      )
      expect(words.match(/[A-Za-z]{3,}/g)?.filter((word) => !['Webhook', 'Webhooks', 'Gone'].includes(word)) ?? []).to
        .be.empty
      expect(html).to.contain('<html lang="zh-CN">').and.not.to.contain('If the button')
    }
  })

  it('follow Accept-Language: the highest weight that we have, never one of weight 0, else English', () => {
    for (const [header, language] of [
      [undefined, 'en'],
      ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN'],
      ['fr, en;q=0.5, zh-TW;q=0.7', 'zh-CN'],
      ['zh;q=0, en;q=0.1', 'en'],
      ['de, *;q=0.5', 'en'],
      [`${'xx,'.repeat(5000)}zh`, 'en'],
      [';;;q=,=,zh;q=x', 'en'],
    ] as const)
      expect(languageAsked(header), header).to.equal(language)
  })

  it('escape what an address can contain', () => {
    const { html, text } = testMail('https://gate.example', `a&'b@example.com`)
    expect(html).to.contain('a&amp;&#39;b@example.com')
    expect(text).to.contain(`a&'b@example.com`)
  })
})
