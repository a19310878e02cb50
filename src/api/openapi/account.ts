/**
 * Accounts, their sessions and their mails, as the document tells them.
 */
import { z } from 'zod'
import type { ErrorCode } from '../../shared/errors.ts'
import { loginBody, passwordBody, profileBody, registerBody } from '../console/auth.ts'
import { forgotBody, resetBody, verifyBody } from '../console/email.ts'
import { testMailBody } from '../console/mail.ts'
import { done, mailSent, mailStatus, said, sessionList, signedIn, userAnswer } from '../answers.ts'
import type { Operation } from './operation.ts'
import { BODY_ERRORS } from '../endpoint.ts'

const PASSWORD_ERRORS = [
  'password_too_short', 'password_too_long', 'password_needs_letter_and_digit', 'invalid_request',
] as const satisfies ErrorCode[]

const account = { tag: 'Account', auth: 'session' } as const

const open = { tag: 'Account', auth: null, method: 'post' } as const

export const accountOperations: Operation[] = [
  {
    ...open, path: '/api/auth/register', summary: 'Register', body: registerBody,
    description: 'Makes an account and logs it in. A mail to verify the address goes out by itself.',
    answers: { 200: { description: 'The account and its first session.', schema: signedIn } },
    errors: ['invalid_email', ...PASSWORD_ERRORS, 'email_taken', 'rate_limited', 'overloaded'],
  },
  {
    ...open, path: '/api/auth/login', summary: 'Log in', body: loginBody,
    answers: { 200: { description: 'The account and a new session.', schema: signedIn } },
    errors: ['invalid_request', 'invalid_credentials', 'account_suspended', 'rate_limited', 'overloaded'],
  },
  {
    ...account, method: 'post', path: '/api/auth/logout', summary: 'Log out',
    description: 'Ends this session and no other.',
    answers: { 200: { description: 'The session has ended.', schema: done } }, errors: BODY_ERRORS,
  },
  {
    ...account, method: 'get', path: '/api/auth/me', summary: 'Show the account',
    answers: { 200: { description: 'The account.', schema: userAnswer } }, errors: [],
  },
  {
    ...account, method: 'patch', path: '/api/auth/me', summary: 'Change the profile', body: profileBody,
    answers: { 200: { description: 'The account as it is now.', schema: userAnswer } }, errors: ['invalid_request'],
  },
  {
    ...account, method: 'post', path: '/api/auth/password', summary: 'Change the password', body: passwordBody,
    description: 'All other sessions end.',
    answers: { 200: { description: 'It is changed.', schema: done } },
    errors: [...PASSWORD_ERRORS, 'wrong_password', 'rate_limited', 'overloaded'],
  },
  {
    ...account, method: 'get', path: '/api/auth/sessions', summary: 'List the sessions',
    answers: { 200: { description: 'The live sessions, newest first.', schema: sessionList } }, errors: [],
  },
  {
    ...account, method: 'delete', path: '/api/auth/sessions/:id', summary: 'End a session',
    params: z.object({ id: z.string().meta({ description: 'The `id` of a session.' }) }),
    answers: { 200: { description: 'It has ended.', schema: done } }, errors: ['not_found'],
  },
  {
    ...open, path: '/api/email/verify', summary: 'Verify an e-mail address', body: verifyBody,
    answers: { 200: { description: 'The account, verified.', schema: userAnswer } }, errors: ['invalid_token'],
  },
  {
    ...account, method: 'post', path: '/api/email/resend', summary: 'Mail another verification link',
    answers: { 200: { description: 'It is on its way.', schema: said } },
    errors: [...BODY_ERRORS, 'already_verified', 'rate_limited'],
  },
  {
    ...open, path: '/api/email/forgot', summary: 'Ask for a reset link', body: forgotBody,
    description: 'The answer is the same whether the address is registered or not.',
    answers: { 200: { description: 'A link was sent if the address is registered.', schema: said } },
    errors: ['invalid_email', 'rate_limited'],
  },
  {
    ...open, path: '/api/email/reset', summary: 'Set a new password by a mailed link', body: resetBody,
    description: 'All sessions end. A password that is refused does not spend the link.',
    answers: { 200: { description: 'It is changed.', schema: said } },
    errors: ['invalid_token', ...PASSWORD_ERRORS, 'overloaded'],
  },
  {
    tag: 'Mail', auth: 'session', method: 'get', path: '/api/mail/status', summary: 'How mail goes out',
    description: '`file`: mail goes into a file on the server, and reaches nobody.',
    answers: { 200: { description: 'The transport.', schema: mailStatus } },
    errors: [],
  },
  {
    tag: 'Mail', auth: 'session', method: 'post', path: '/api/mail/test', summary: 'Send a test mail',
    body: testMailBody, bodyIsOptional: true,
    answers: { 200: { description: 'It was taken.', schema: mailSent } },
    errors: ['invalid_email', 'email_unverified', 'mail_failed', 'rate_limited'],
  },
]
