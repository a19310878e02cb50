/** Every endpoint: start reading here. What each of them accepts, checks and answers is in its own file. */
import { beginCheckout, redeem } from './billing/checkout.ts'
import { changeBilling, forgetCard, showBilling } from './billing/overview.ts'
import { cancelPayment, showPayment, showPayments, syncPayment } from './billing/payments.ts'
import { endAccess, showAccess } from './console/access.ts'
import { showModelLatency, showModels, showState } from './console/account.ts'
import {
  changeAccount,
  createAccount,
  deleteOwnAccount,
  login,
  logout,
  replacePassword,
  showAccount,
} from './console/auth.ts'
import { showCall, showCalls } from './console/calls.ts'
import { claim } from './console/claim.ts'
import {
  changeAddress,
  confirmNewAddress,
  forgot,
  resend,
  reset,
  showNewAddress,
  showResetAddress,
  verify,
} from './console/email.ts'
import { accountEvents } from './console/events.ts'
import { exportCalls, exportLedger, exportMembers } from './console/exports.ts'
import { showGrants } from './console/grants.ts'
import { editKey, endKey, makeKey, renewKey, showKeys } from './console/keys.ts'
import {
  endInvitation,
  joinOrganisation,
  makeInvitation,
  showInvitation,
  showInvitations,
} from './console/invitations.ts'
import { showLedger } from './console/ledger.ts'
import { sendTestMail, showMail } from './console/mail.ts'
import { editMember, endMember, handOver, leaveOrganisation, showMembers } from './console/members.ts'
import { endOrganisation, makeOrganisation, showAccounts, switchAccount } from './console/organisations.ts'
import {
  beginApp,
  confirmApp,
  passSecondFactor,
  proveYourself,
  removeApp,
  showFactors,
} from './console/second-factor.ts'
import { identityEndpoints } from './console/identities.ts'
import { providerEndpoints } from './console/providers.ts'
import {
  beginPasskey,
  beginSignIn,
  editPasskey,
  endPasskey,
  makePasskey,
  passkeySignIn,
  showPasskeys,
} from './console/passkeys.ts'
import { revokeSession, revokeOtherSessions, showSessions } from './console/sessions.ts'
import { showHourUsage, showKeyUsage, showLatency, showMemberUsage, showUsage } from './console/usage.ts'
import { sendAgain, showDeliveries, showDelivery } from './console/webhook-deliveries.ts'
import {
  editWebhook,
  endWebhook,
  showCallback,
  makeWebhook,
  renewCallback,
  renewWebhook,
  showWebhook,
  showWebhooks,
  testWebhook,
} from './console/webhooks.ts'
import { receiveStripeEvent } from './hooks/stripe.ts'
import { endCode, forgiveDebtOf, makeCode, showCodes, showDebts } from './operator/codes.ts'
import {
  findPayments,
  refundAnyPayment,
  resolveAnyPayment,
  showAnyPayment,
  syncAnyPayment,
} from './operator/payments.ts'
import { showLocalMails } from './static/local-mails.ts'
import { serveMedia } from './static/media.ts'
import {
  activateAccount,
  giveCredits,
  regroupAccount,
  searchAccounts,
  showOperated,
  suspendAccount,
} from './operator/accounts.ts'
import { showAllCalls, showAnyCall } from './operator/calls.ts'
import {
  applyVersion,
  checkCatalogue,
  rollBackTo,
  showCatalogue,
  showVersion,
  showVersions,
} from './operator/catalogue.ts'
import { showMargins } from './operator/margins.ts'
import { limitAccount } from './operator/limits.ts'
import { endSessionOf, endSessionsOf, showLedgerOf, showSessionsOf } from './operator/support.ts'
import { takeCredits } from './operator/deductions.ts'
import { endAnyKey, endSecretOf, limitKey, showKeysOf } from './operator/keys.ts'
import { showOverview } from './operator/overview.ts'
import { discardMail, retryMail, showDeadMails } from './operator/reports.ts'
import { disableUpstreamKey, enableUpstreamKey, showUpstreams, testUpstreamKey } from './operator/upstreams.ts'
import { exportActions, showActions } from './operator/actions.ts'
import {
  editOperatorsWebhook,
  endOperatorsWebhook,
  makeOperatorsWebhook,
  renewOperatorsWebhook,
  sendOperatorsEventAgain,
  showOperatorsDeliveries,
  showOperatorsDelivery,
  showOperatorsWebhook,
  showOperatorsWebhooks,
  testOperatorsWebhook,
} from './operator/webhooks.ts'
import { changeBanner, removeTheBanner, showBanner, showTheBanner } from './operator/banner.ts'
import { healthz, readyz } from './ops/health.ts'
import { serveMetrics } from './ops/scrape.ts'
import { fetchCall } from './v1/calls/get-call.ts'
import { completeChat } from './v1/chat/completions.ts'
import { createSpeech } from './v1/audio/speech.ts'
import { createTranscription, createTranslation } from './v1/audio/transcriptions.ts'
import { createEmbeddings } from './v1/embeddings.ts'
import { geminiEndpoints } from './v1/gemini/endpoints.ts'
import { editImages } from './v1/images/edits.ts'
import { makeImage } from './v1/images/images.ts'
import { makeVideo } from './v1/videos/generations.ts'
import { createModeration } from './v1/moderations.ts'
import { rankDocuments } from './v1/rerank.ts'
import { showKey } from './v1/key.ts'
import { countTokens } from './v1/messages/count-tokens.ts'
import { createMessage } from './v1/messages/messages.ts'
import { listModels, showModel } from './v1/models.ts'
import { quoteCall } from './v1/quotes.ts'
import { countInput } from './v1/responses/input-tokens.ts'
import { createResponse } from './v1/responses/responses.ts'
import { deleteVideo, fetchContent, listVideos, showVideo } from './v1/videos/stored.ts'
import { createVideo } from './v1/videos/videos.ts'
import { cancelResponse, deleteResponse, listInputItems, showResponse } from './v1/responses/stored.ts'

/** All of them. */
export const endpoints = [
  // `/v1` and `/v1beta`: the gateway, for holders of an API key.
  listModels,
  showModel,
  showKey,
  makeImage,
  editImages,
  makeVideo,
  createVideo,
  listVideos,
  showVideo,
  fetchContent,
  deleteVideo,
  createEmbeddings,
  createModeration,
  rankDocuments,
  createSpeech,
  createTranscription,
  createTranslation,
  completeChat,
  createMessage,
  countTokens,
  createResponse,
  countInput,
  showResponse,
  listInputItems,
  cancelResponse,
  deleteResponse,
  ...geminiEndpoints,
  fetchCall,
  quoteCall,
  // `/api`: accounts, and how their users sign in.
  createAccount,
  claim,
  login,
  ...providerEndpoints,
  ...identityEndpoints,
  passSecondFactor,
  showFactors,
  beginApp,
  confirmApp,
  removeApp,
  showPasskeys,
  beginPasskey,
  makePasskey,
  editPasskey,
  endPasskey,
  beginSignIn,
  passkeySignIn,
  proveYourself,
  logout,
  showAccount,
  changeAccount,
  replacePassword,
  deleteOwnAccount,
  showSessions,
  revokeSession,
  revokeOtherSessions,
  verify,
  resend,
  forgot,
  reset,
  changeAddress,
  confirmNewAddress,
  showAccess,
  endAccess,
  showNewAddress,
  showResetAddress,
  showMail,
  sendTestMail,
  // `/api`: the accounts that somebody may act for, and who else may.
  showAccounts,
  switchAccount,
  makeOrganisation,
  endOrganisation,
  showMembers,
  leaveOrganisation,
  editMember,
  endMember,
  handOver,
  makeInvitation,
  showInvitations,
  joinOrganisation,
  showInvitation,
  endInvitation,
  // `/api`: the keys of an account, and what was called, used and paid.
  makeKey,
  showKeys,
  editKey,
  renewKey,
  endKey,
  showState,
  showModels,
  showModelLatency,
  accountEvents,
  showCalls,
  showCall,
  showLedger,
  exportCalls,
  exportLedger,
  exportMembers,
  showGrants,
  showUsage,
  showHourUsage,
  showKeyUsage,
  showMemberUsage,
  showLatency,
  // `/api/billing`: buying credits.
  showBilling,
  changeBilling,
  forgetCard,
  beginCheckout,
  redeem,
  showPayments,
  showPayment,
  syncPayment,
  cancelPayment,
  // `/api/webhooks`: where events of an account are sent.
  makeWebhook,
  showWebhooks,
  showCallback,
  renewCallback,
  showWebhook,
  editWebhook,
  endWebhook,
  renewWebhook,
  testWebhook,
  showDeliveries,
  showDelivery,
  sendAgain,
  // `/api/operator`: for accounts whose role is `admin`.
  showOverview,
  searchAccounts,
  showOperated,
  giveCredits,
  takeCredits,
  suspendAccount,
  regroupAccount,
  activateAccount,
  limitAccount,
  showSessionsOf,
  endSessionsOf,
  endSessionOf,
  showLedgerOf,
  showKeysOf,
  limitKey,
  endSecretOf,
  endAnyKey,
  showAllCalls,
  showAnyCall,
  showDeadMails,
  retryMail,
  discardMail,
  showUpstreams,
  disableUpstreamKey,
  enableUpstreamKey,
  testUpstreamKey,
  showMargins,
  showActions,
  exportActions,
  showTheBanner,
  changeBanner,
  removeTheBanner,
  showOperatorsWebhooks,
  makeOperatorsWebhook,
  showOperatorsWebhook,
  editOperatorsWebhook,
  renewOperatorsWebhook,
  testOperatorsWebhook,
  showOperatorsDeliveries,
  showOperatorsDelivery,
  sendOperatorsEventAgain,
  endOperatorsWebhook,
  showCatalogue,
  checkCatalogue,
  applyVersion,
  showVersions,
  showVersion,
  rollBackTo,
  findPayments,
  showAnyPayment,
  syncAnyPayment,
  refundAnyPayment,
  resolveAnyPayment,
  makeCode,
  showCodes,
  endCode,
  showDebts,
  forgiveDebtOf,
  // Results, health and metrics.
  showLocalMails,
  showBanner,
  receiveStripeEvent,
  serveMedia,
  healthz,
  readyz,
  serveMetrics,
] as const
