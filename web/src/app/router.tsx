import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { parseAnswerSearch, parseSignInSearch } from '../accounts/provider-answer.ts'
import { selfQuery } from '../accounts/self.ts'
import type { Api } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { parseLogSearch } from '../audit/log/log-search.ts'
import { parseClaimSearch } from '../devices/claim/claim-search.ts'
import { parseDeviceSearch } from '../devices/device-search.ts'
import { parseListSearch } from '../upgrades/overview.ts'
import { parseDraft, parseInstants } from '../upgrades/wizard/draft.ts'
import { parseTargetSearch } from '../upgrades/rollout/targets/target-search.ts'
import { parseSiteSearch, parseWebhooksSearch } from '../webhooks/webhook.ts'
import { parseDeliverySearch } from '../webhooks/delivery-search.ts'
import { ErrorPage, NotFoundPage, PendingPage } from './error-pages.tsx'
import { Root } from './root.tsx'
import { Shell } from './shell.tsx'
import { SignedIn } from './signed-in.tsx'

/** The previous page stays for this long: most scripts arrive sooner. */
const PENDING_MS = 150

interface RouterParts {
  readonly api: Api
  readonly queries: QueryClient
}

/**
 * The pages and their addresses; src/http/console/serve-console.ts serves the document at the same ones. Each page is
 * loaded when it is first opened.
 */
const rootRoute = createRootRouteWithContext<RouterParts>()({
  component: Root,
  notFoundComponent: NotFoundPage,
})

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: parseSignInSearch,
  component: lazyRouteComponent(() => import('../accounts/sign-in/sign-in-page.tsx'), 'SignInPage'),
})

const registerRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/register',
  validateSearch: ({ invite }: Readonly<Record<string, unknown>>): { readonly invite?: string } =>
    typeof invite === 'string' ? { invite } : {},
  component: lazyRouteComponent(() => import('../accounts/register/register-page.tsx'), 'RegisterPage'),
})

const recoverRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/recover',
  component: lazyRouteComponent(() => import('../accounts/recover/recover-page.tsx'), 'RecoverPage'),
})

const operatorRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/operator',
  component: lazyRouteComponent(() => import('../operator/service/service-page.tsx'), 'ServicePage'),
})

/** The parent of all pages for people who are signed in. */
const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  async beforeLoad({ context: { api, queries }, location }) {
    const self = await queries.ensureQueryData(selfQuery(api)).catch((error: unknown) => {
      if (error instanceof Problem && error.status === 401)
        throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { return: location.href } })
      throw error
    })
    return { self }
  },
  component: SignedIn,
})

const homeRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/',
  beforeLoad({ context: { self } }) {
    const orgIds = new Set(self.privileges.map(({ org_id }) => org_id))
    const [orgId] = orgIds
    if (orgId !== undefined && orgIds.size === 1)
      throw redirect({ to: '/orgs/$orgId', params: { orgId }, replace: true })
  },
  component: lazyRouteComponent(() => import('../orgs/home/home-page.tsx'), 'HomePage'),
})

const accountRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/account',
  validateSearch: parseAnswerSearch,
  component: lazyRouteComponent(() => import('../accounts/account/account-page.tsx'), 'AccountPage'),
})

const orgRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/orgs/$orgId',
  component: Shell,
  // The choice of the organization keeps the focus.
  remountDeps: () => null,
})

const overviewRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/',
  component: lazyRouteComponent(() => import('../dashboard/overview/overview-page.tsx'), 'OverviewPage'),
})

const devicesRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/devices',
  validateSearch: parseDeviceSearch,
  component: lazyRouteComponent(() => import('../devices/list/device-list-page.tsx'), 'DeviceListPage'),
})

const claimRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/claim',
  validateSearch: parseClaimSearch,
  component: lazyRouteComponent(() => import('../devices/claim/claim-page.tsx'), 'ClaimPage'),
})

const deviceRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/sites/$siteId/devices/$mac',
  component: lazyRouteComponent(() => import('../devices/device/device-page.tsx'), 'DevicePage'),
})

const siteRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/sites/$siteId',
  component: lazyRouteComponent(() => import('../dashboard/site/site-page.tsx'), 'SitePage'),
})

const siteSettingsRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/sites/$siteId/settings',
  component: lazyRouteComponent(() => import('../orgs/site-settings/site-settings-page.tsx'), 'SiteSettingsPage'),
})

const mapRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/sites/$siteId/maps/$mapId',
  validateSearch: ({ device }: Readonly<Record<string, unknown>>): { readonly device?: string } =>
    // The router reads a text of digits as a number.
    typeof device === 'string' || typeof device === 'number' ? { device: String(device) } : {},
  component: lazyRouteComponent(() => import('../maps/map/map-page.tsx'), 'MapPage'),
})

const upgradesRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/upgrades',
  validateSearch: parseListSearch,
  component: lazyRouteComponent(() => import('../upgrades/list/upgrade-list-page.tsx'), 'UpgradeListPage'),
})

const wizardRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/upgrades/new',
  validateSearch: parseInstants,
  component: lazyRouteComponent(() => import('../upgrades/wizard/wizard-page.tsx'), 'WizardPage'),
})

const siteWizardRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/sites/$siteId/upgrades/new',
  // Its times are on the clock of the site, which the page knows.
  validateSearch: parseDraft,
  component: lazyRouteComponent(() => import('../upgrades/wizard/wizard-page.tsx'), 'SiteWizardPage'),
})

const rolloutRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/upgrades/$upgradeId',
  validateSearch: parseTargetSearch,
  component: lazyRouteComponent(() => import('../upgrades/rollout/rollout-page.tsx'), 'RolloutPage'),
})

const mxedgesRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/edges',
  component: lazyRouteComponent(() => import('../mxedges/list/mxedge-list-page.tsx'), 'MxedgeListPage'),
})

const mxedgeRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/edges/$mxedgeId',
  component: lazyRouteComponent(() => import('../mxedges/mxedge/mxedge-page.tsx'), 'MxedgePage'),
})

const firmwareRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/firmware',
  component: lazyRouteComponent(() => import('../firmware/catalog/catalog-page.tsx'), 'CatalogPage'),
})

const webhooksRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/webhooks',
  validateSearch: parseWebhooksSearch,
  component: lazyRouteComponent(() => import('../webhooks/list/webhook-list-page.tsx'), 'WebhookListPage'),
})

const newWebhookRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/webhooks/new',
  validateSearch: parseSiteSearch,
  component: lazyRouteComponent(() => import('../webhooks/form/new-webhook-page.tsx'), 'NewWebhookPage'),
})

const webhookRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/webhooks/$webhookId',
  validateSearch: parseDeliverySearch,
  component: lazyRouteComponent(() => import('../webhooks/webhook/webhook-page.tsx'), 'WebhookPage'),
})

const editWebhookRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/webhooks/$webhookId/edit',
  validateSearch: parseSiteSearch,
  component: lazyRouteComponent(() => import('../webhooks/form/edit-webhook-page.tsx'), 'EditWebhookPage'),
})

const peopleRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/people',
  component: lazyRouteComponent(() => import('../orgs/people/people-page.tsx'), 'PeoplePage'),
})

const ssoListRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/sso',
  component: lazyRouteComponent(() => import('../orgs/sso-list/sso-list-page.tsx'), 'SsoListPage'),
})

const ssoRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/sso/$ssoId',
  component: lazyRouteComponent(() => import('../orgs/sso/sso-page.tsx'), 'SsoPage'),
})

const settingsRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/settings',
  component: lazyRouteComponent(() => import('../orgs/settings/settings-page.tsx'), 'SettingsPage'),
})

const auditRoute = createRoute({
  getParentRoute: () => orgRoute,
  path: '/audit',
  validateSearch: parseLogSearch,
  component: lazyRouteComponent(() => import('../audit/log/log-page.tsx'), 'LogPage'),
})

const routeTree = rootRoute.addChildren([
  signInRoute,
  registerRoute,
  recoverRoute,
  operatorRoute,
  signedInRoute.addChildren([
    homeRoute,
    accountRoute,
    orgRoute.addChildren([
      overviewRoute,
      devicesRoute,
      claimRoute,
      deviceRoute,
      siteRoute,
      siteSettingsRoute,
      mapRoute,
      upgradesRoute,
      wizardRoute,
      siteWizardRoute,
      rolloutRoute,
      mxedgesRoute,
      mxedgeRoute,
      firmwareRoute,
      webhooksRoute,
      newWebhookRoute,
      webhookRoute,
      editWebhookRoute,
      peopleRoute,
      ssoListRoute,
      ssoRoute,
      settingsRoute,
      auditRoute,
    ]),
  ]),
])

export function createConsoleRouter(context: RouterParts) {
  return createRouter({
    routeTree,
    context,
    defaultErrorComponent: ErrorPage,
    defaultNotFoundComponent: NotFoundPage,
    // A page whose script is being loaded.
    defaultPendingComponent: PendingPage,
    defaultPendingMs: PENDING_MS,
    defaultPendingMinMs: 0,
    // What was typed for one site, device or webhook must not be sent for another one.
    defaultRemountDeps: ({ params }) => params,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
