import { randomUUID } from 'node:crypto'
import type { Samples } from './area.ts'

const token = { ids: { token: 'unknown' } }
const provider = { ids: { provider: 'google' } }
const ownToken = { ids: { apitoken_id: randomUUID() } }
const proof = { password: 'correct horse battery', two_factor: '000000' }

/** Well-formed calls of operations on objects without an organization, if they can be refused or only read. */
export const selfSamples: Samples = {
  getSelf: {},
  updateSelf: { body: { first_name: 'Changed' } },
  leaveOrg: { ids: { org_id: randomUUID() } },
  deleteSelf: { body: { password: proof.password } },
  updateSelfEmail: { body: { email: 'changed@example.test', password: proof.password } },
  verifySelfEmail: token,
  getSelfLoginFailures: {},
  getSelfApiUsage: {},
  listSelfSessions: {},
  endOtherSelfSessions: {},
  endSelfSession: { ids: { session_id: '0'.repeat(32) } },
  listSelfAuditLogs: {},
  generateSecretFor2faVerification: {},
  verifyTwoFactor: { body: proof },
  disableTwoFactor: { body: proof },
  renewRecoveryCodes: { body: proof },
  twoFactor: { body: { two_factor: proof.two_factor } },
  logout: {},
  createOrg: { body: { name: 'New' } },
  listWebhookTopics: {},
  getWebhookTopicSchema: { ids: { topic: 'alarms' } },
  listWebhookKeys: { ids: { org_id: randomUUID(), webhook_id: randomUUID() } },
  listCountryCodes: {},
  listStates: { query: 'country_code=US' },
  getGatewayDefaultConfig: { query: 'model=SRX320' },
  listSiteLanguages: {},
  listDeviceModels: {},
  listDeviceEventsDefinitions: {},
  listAlarmDefinitions: {},
  listMxEdgeModels: {},
  listMxEdgeEventsDefinitions: {},
  listApiTokens: {},
  createApiToken: { body: { name: 'script', password: proof.password } },
  getApiToken: ownToken,
  updateApiToken: { ...ownToken, body: { name: 'changed' } },
  deleteApiToken: ownToken,
  verifyAdminInvite: token,
  getOauth2UrlForLinking: { ...provider, query: 'forward=http://127.0.0.1/' },
  linkOauth2Account: { ...provider, body: { code: 'unknown', password: proof.password } },
  unlinkSelfOauth2Provider: provider,
  unlinkOauth2Provider: provider,
  getOauth2AuthorizationUrlForLogin: { ...provider, query: 'forward=http://127.0.0.1/' },
  listLoginOauthProviders: {},
  getAdminRegistrationInfo: {},
}
