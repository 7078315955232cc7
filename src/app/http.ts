import type { FastifyInstance } from 'fastify'
import { createAuthenticate } from '../access/authentication/authenticate.ts'
import { createCheckPassword } from '../access/authentication/check-password.ts'
import { createLoginThrottle } from '../access/authentication/login-throttle.ts'
import { sessionCookieOf } from '../access/authentication/session-cookie.ts'
import type { LoginGuard } from '../accounts/parts.ts'
import { registrationOperations } from '../accounts/registration/routes.ts'
import { registrationPageRoutes } from '../accounts/registration/routes-page.ts'
import { orgAdminOperations } from '../accounts/admins/routes.ts'
import { inviteOperations } from '../accounts/admins/routes-invites.ts'
import { invitePageRoutes } from '../accounts/admins/routes-page.ts'
import { type Oauth, createOauth } from '../accounts/oauth/oauth.ts'
import { oauthLinkOperations, oauthLoginOperations } from '../accounts/oauth/routes.ts'
import { oauthCallbackRoutes } from '../accounts/oauth/flows/routes-callback.ts'
import { ssoInsightOperations, ssoOperations } from '../accounts/sso/routes.ts'
import { ssoRoleOperations } from '../accounts/sso/routes-roles.ts'
import { samlRoutes } from '../accounts/sso/saml/routes-saml.ts'
import { secondFactorOperations } from '../accounts/second-factor/routes.ts'
import { recoveryOperations } from '../accounts/recovery/routes.ts'
import { recoveryPageRoutes } from '../accounts/recovery/routes-page.ts'
import { selfEmailOperations } from '../accounts/self/routes-email.ts'
import { selfHistoryOperations } from '../accounts/self/routes-history.ts'
import { emailPageRoutes } from '../accounts/self/routes-page.ts'
import { selfOperations } from '../accounts/self/routes.ts'
import { recordLoginFailure } from '../accounts/sessions/record-login-failure.ts'
import { loginOperations } from '../accounts/sessions/routes.ts'
import { selfSessionOperations } from '../accounts/sessions/routes-self.ts'
import { orgTokenOperations } from '../accounts/tokens/routes-org.ts'
import { ownTokenOperations } from '../accounts/tokens/routes-own.ts'
import { firmwareOperations } from '../firmware/routes.ts'
import { callHomeOperations } from '../devices/call-home/routes.ts'
import { deviceStream } from '../devices/routes-channels.ts'
import { deviceCommandOperations } from '../devices/commands/routes.ts'
import { deviceMaintenanceOperations } from '../devices/commands/routes-maintenance.ts'
import { deviceConstOperations } from '../devices/routes-const.ts'
import { deviceImageOperations } from '../devices/images/routes.ts'
import { createClaimGuesses } from '../devices/inventory/claim-guesses.ts'
import { routerOperations } from '../devices/routers/routes.ts'
import { supportOperations } from '../devices/support/routes.ts'
import { deviceSupport } from '../devices/support/store.ts'
import { supportFileRoutes } from '../devices/support/routes-files.ts'
import { deviceTransferOperations } from '../devices/transfer/routes.ts'
import { firmwareDownloadRoutes } from '../firmware/downloads/routes-download.ts'
import type { Operation } from '../http/operation.ts'
import { serveOperations } from '../http/serve-operations.ts'
import { serveOpenApi } from '../http/openapi/serve-openapi.ts'
import { serveConsole } from '../http/console/serve-console.ts'
import { imageRoutes } from '../http/routes-images.ts'
import { type ServedApi, serveApi } from '../http/serve-api.ts'
import { createHttpServer } from '../http/server.ts'
import { serveStream } from '../http/stream/serve-stream.ts'
import { installerDeviceOperations } from '../installer/routes-devices.ts'
import { installerImageOperations } from '../installer/routes-images.ts'
import { installerSiteOperations } from '../installer/routes-sites.ts'
import { placementOperations } from '../placement/routes.ts'
import { emptyConstOperations } from '../orgs/constants/routes-empty.ts'
import { worldConstOperations } from '../orgs/constants/routes.ts'
import { alarmStream } from '../orgs/alarms/routes-channels.ts'
import { upgradeStream } from '../upgrades/live/routes-channels.ts'
import { findCommandWithImage } from '../mxedges/commands/store-image-use.ts'
import { agentRegistrationOperations } from '../mxedges/registration/routes.ts'
import { findMxedgeUpgradeWithImage } from '../mxedges/upgrades/store-records.ts'
import { mxedgeUpgradeOperations } from '../upgrades/mxedges/routes.ts'
import { upgradeOverviewOperations } from '../upgrades/overview/routes.ts'
import { mxedgeOperations } from '../mxedges/routes.ts'
import { mxedgeUpgradeStream } from '../upgrades/mxedges/routes-channels.ts'
import { mxedgeStream } from '../mxedges/routes-channels.ts'
import { mxedgeSupport } from '../mxedges/support/store.ts'
import type { Context } from '../platform/context.ts'
import { removalOperations } from '../removal/routes.ts'
import { autoUpgradeOperations } from '../upgrades/automatic/routes.ts'
import { upgradeOperations } from '../upgrades/routes.ts'
import { ssrUpgradeOperations } from '../upgrades/ssr/routes.ts'
import { upgradeChangeOperations } from '../upgrades/changes/routes.ts'
import { upgradeReportOperations } from '../upgrades/reports/routes.ts'
import { upgradeTargetOperations } from '../upgrades/targets/routes.ts'
import { siteUpgradeOperations } from '../upgrades/site/routes.ts'
import { webhookOperations } from '../webhooks/routes.ts'
import type { HttpParts } from './http-parts.ts'
import { dataOperations } from './apart/apart-operations.ts'
import { operatorRoutes } from './operator/routes-operator.ts'
import { version } from '../platform/version.ts'

/** An HTTP server that does not listen yet. */
export interface BuiltHttp {
  readonly http: FastifyInstance
  /** All operations that it serves under /api/v1. */
  readonly operations: readonly Operation[]
  readonly charge: ServedApi['charge']
}

/** Builds the HTTP server with every route. */
export async function buildHttp(ctx: Context, parts: HttpParts): Promise<BuiltHttp> {
  const http = await createHttpServer({
    log: ctx.log,
    tls: parts.tls,
    ...parts.network,
    onRefused: () => ctx.crowding.note(),
    isSecure: () => ctx.baseUrl.startsWith('https:'),
  })
  const throttle = createLoginThrottle(ctx.clock)
  const guard = { throttle, checkPassword: createCheckPassword(parts.accounts.passwords, throttle) }
  const authenticate = createAuthenticate(ctx, {
    ...parts.accounts,
    checkPassword: guard.checkPassword,
    onWrongPassword: (access, from) => recordLoginFailure(ctx, access, from),
  })
  const oauth = createOauth(ctx, parts.accounts)
  const operations = apiOperations(ctx, parts, { guard, oauth })
  await serveOpenApi(http, { operations, version })
  const callers = {
    authenticate,
    sessionCookie: () => sessionCookieOf(ctx),
    ...(parts.requestsPerAccount !== undefined && { requestsPerAccount: parts.requestsPerAccount }),
    ...parts.clocks,
  }
  const { charge } = await serveApi(http, callers, [serveOperations(ctx, operations, parts.apart)])
  serveStream(ctx, http, {
    authenticate,
    parts: [deviceStream, mxedgeStream, alarmStream, upgradeStream, mxedgeUpgradeStream],
    ...parts.stream,
  })
  await http.register(oauthCallbackRoutes(ctx, oauth))
  await http.register(samlRoutes(ctx, { settings: parts.accounts.settings, throttle }))
  await http.register(registrationPageRoutes)
  await http.register(recoveryPageRoutes)
  await http.register(emailPageRoutes)
  await http.register(
    firmwareDownloadRoutes(ctx, parts.storage.firmwareFiles, parts.storage.settings.firmwareDownloads),
  )
  await http.register(supportFileRoutes(ctx, parts.storage.supportFiles, [deviceSupport, mxedgeSupport]))
  await http.register(imageRoutes(ctx, parts.storage.imageFiles))
  await http.register(invitePageRoutes)
  await http.register(operatorRoutes(ctx, parts), { prefix: '/operator/v1' })
  if (parts.console !== null) serveConsole(http, parts.console)
  return { http, operations, charge }
}

/** Parts that all ways to log in share. */
interface SignIn {
  readonly guard: LoginGuard
  readonly oauth: Oauth
}

/** Every operation under /api/v1. */
function apiOperations(ctx: Context, parts: HttpParts, { guard, oauth }: SignIn): Operation[] {
  const { accounts, storage, outbound } = parts
  const guesses = createClaimGuesses()
  return [
    ...loginOperations(accounts, guard),
    ...selfOperations(ctx, accounts, guard),
    ...selfEmailOperations(accounts, guard),
    ...selfHistoryOperations(accounts),
    ...selfSessionOperations,
    ...secondFactorOperations(guard),
    ...recoveryOperations(accounts, guard),
    ...registrationOperations(accounts, guard),
    ...oauthLinkOperations(oauth, guard),
    ...oauthLoginOperations(ctx, oauth, guard),
    ...ownTokenOperations(guard),
    ...orgTokenOperations(guard),
    ...orgAdminOperations,
    ...inviteOperations(accounts),
    ...ssoOperations,
    ...ssoInsightOperations,
    ...ssoRoleOperations,
    ...dataOperations(ctx),
    ...removalOperations,
    ...worldConstOperations,
    ...emptyConstOperations,
    ...deviceCommandOperations,
    ...deviceMaintenanceOperations,
    ...callHomeOperations(parts.callHomePlace),
    ...routerOperations(ctx.clock, parts.agents),
    ...supportOperations(storage.supportFiles, parts),
    ...deviceTransferOperations,
    ...deviceImageOperations(storage.imageFiles),
    ...deviceConstOperations,
    ...firmwareOperations(storage.firmwareFiles, [findCommandWithImage, findMxedgeUpgradeWithImage]),
    ...upgradeOverviewOperations,
    ...upgradeOperations(outbound),
    ...autoUpgradeOperations,
    ...upgradeTargetOperations,
    ...upgradeReportOperations,
    ...siteUpgradeOperations(outbound),
    ...ssrUpgradeOperations,
    ...upgradeChangeOperations,
    ...installerDeviceOperations(guesses),
    ...installerImageOperations(storage.imageFiles),
    ...installerSiteOperations,
    ...placementOperations(storage.imageFiles),
    ...mxedgeUpgradeOperations(outbound),
    ...mxedgeOperations({
      agents: parts.agents,
      files: storage.imageFiles,
      supportFiles: storage.supportFiles,
      guesses,
    }),
    ...agentRegistrationOperations(ctx.clock, parts.agents),
    ...webhookOperations(outbound, parts.webhookLimits),
  ]
}
