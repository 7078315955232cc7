import type { Page } from 'playwright-core'
import type { Demo, Prepared } from './prepare-demo.ts'

export interface Shot {
  readonly name: string
  readonly path: string
  /** A text that the page shows when it is complete. */
  readonly text: string
  /** Brings the page into the state to show. */
  readonly act?: (page: Page) => Promise<unknown>
}

/** Pages for people who are not signed in. */
export const openShots: readonly Shot[] = [
  { name: 'sign-in', path: '/sign-in', text: 'Password' },
  { name: 'register', path: '/register', text: 'Organization' },
  { name: 'recover', path: '/recover', text: 'Email' },
]

/** Pages of an organization without sites and devices. */
export function emptyShots(org: string): readonly Shot[] {
  return [
    { name: 'empty-overview', path: org, text: 'Name of a new site' },
    { name: 'empty-devices', path: `${org}/devices`, text: 'No device' },
    { name: 'empty-claim', path: `${org}/claim`, text: 'Name of a new site' },
    { name: 'empty-edge-appliances', path: `${org}/edges`, text: 'No edge appliance' },
    { name: 'empty-upgrades', path: `${org}/upgrades`, text: 'No upgrade' },
    { name: 'empty-wizard', path: `${org}/upgrades/new`, text: 'Strategy' },
    { name: 'empty-firmware', path: `${org}/firmware`, text: 'Upload' },
    { name: 'empty-webhooks', path: `${org}/webhooks`, text: 'No webhook' },
    { name: 'empty-people', path: `${org}/people`, text: 'Invite' },
    { name: 'empty-single-sign-on', path: `${org}/sso`, text: 'No roles' },
  ]
}

export function demoShots(demo: Demo, { mapId, upgrades, webhookId, ssoId, mxedgeId }: Prepared): readonly Shot[] {
  const org = `/orgs/${demo.org_id}`
  const site = `${org}/sites/${demo.site_ids[0] ?? ''}`
  const accessPoint = { path: `${site}/devices/02516e000001`, text: 'AP connected' }
  const chassis = { path: `${site}/devices/02516e000013`, text: 'Switch connected' }
  const edge = { path: `${org}/edges/${mxedgeId}`, text: 'tunterm' }
  const webhook = { path: `${org}/webhooks/${webhookId}`, text: 'Request and response' }
  const people = { path: `${org}/people`, text: 'Invite' }
  return [
    { name: 'overview', path: org, text: '3 sites' },
    { name: 'palette', path: org, text: '3 sites', act: openPalette },
    { name: 'devices', path: `${org}/devices`, text: 'berlin-ap-eap102-1' },
    { name: 'devices-none', path: `${org}/devices?text=nothing`, text: 'No device' },
    { name: 'access-point', ...accessPoint },
    { name: 'access-point-restart', ...accessPoint, act: press('Restart…') },
    { name: 'access-point-locate', ...accessPoint, act: press('Locate…') },
    { name: 'switch', ...chassis },
    { name: 'switch-restart', ...chassis, act: press('Restart…') },
    { name: 'switch-restore', ...chassis, act: press('Restore the firmware…') },
    { name: 'cluster', path: `${site}/devices/02516e00000e`, text: 'Gateway connected' },
    { name: 'router', path: `${site}/devices/02516eff0001`, text: 'Gateway connected' },
    { name: 'claim', path: `${org}/claim?macs=02516e000001`, text: 'Connected' },
    { name: 'site', path: site, text: 'Ground floor' },
    {
      name: 'site-settings',
      path: `${site}/settings`,
      text: 'Report outages after',
      act: (page) => page.getByRole('group', { name: 'Automatic upgrades' }).getByLabel('Own value').check(),
    },
    { name: 'floor-plan', path: `${site}/maps/${mapId}`, text: '6 on this plan' },
    {
      name: 'floor-plan-device',
      path: `${site}/maps/${mapId}`,
      text: '6 on this plan',
      act: (page) => page.getByRole('button', { name: /^berlin-ap-eap102-2, / }).click(),
    },
    {
      name: 'floor-plan-delete',
      path: `${site}/maps/${mapId}`,
      text: '6 on this plan',
      act: press('Delete the plan…'),
    },
    { name: 'upgrades', path: `${org}/upgrades`, text: 'To 3.2.0' },
    { name: 'wizard', path: `${org}/upgrades/new?gate=first`, text: 'Strategy' },
    // Most devices are in the upgrades of the other pictures.
    {
      name: 'wizard-plan',
      path: `${org}/upgrades/new?gate=first&takeover=waiting`,
      text: 'Strategy',
      act: previewPlan,
    },
    {
      name: 'wizard-start',
      path: `${org}/upgrades/new?gate=first`,
      text: 'Strategy',
      act: async (page) => {
        await previewPlan(page)
        await press('Start the upgrade…')(page)
      },
    },
    {
      name: 'wizard-routers',
      path: `${org}/upgrades/new?kind=ssr`,
      text: 'All routers',
      act: showPlan,
    },
    {
      name: 'wizard-appliances',
      path: `${org}/upgrades/new?kind=mxedge&services=%7B%22tunterm%22%3A%22latest%22%7D`,
      text: 'All appliances',
      act: showPlan,
    },
    { name: 'site-wizard', path: `${site}/upgrades/new?strategy=serial`, text: 'AP', act: showPlan },
    { name: 'site-wizard-router', path: `${site}/upgrades/new?kind=ssr`, text: 'Router', act: showPlan },
    ...Object.entries(upgrades).map(([state, id]) => ({
      name: state === 'running' ? 'rollout' : `rollout-${state}`,
      path: `${org}/upgrades/${id}`,
      text: state === 'running' ? 'Meeting rooms' : state === 'appliances' ? 'tunterm' : 'Timeline',
    })),
    {
      name: 'rollout-cancel',
      path: `${org}/upgrades/${upgrades.running}`,
      text: 'Sites',
      act: press('Cancel the upgrade…'),
    },
    {
      name: 'rollout-device',
      path: `${org}/upgrades/${upgrades.stopped}`,
      text: 'Sites',
      act: (page) => page.locator('.row-button').first().click(),
    },
    { name: 'edge-appliances', path: `${org}/edges`, text: 'tunterm' },
    { name: 'edge-appliance', ...edge },
    { name: 'edge-appliance-replace', ...edge, act: press('Replace the box…') },
    { name: 'edge-appliance-stop', ...edge, act: press('Stop tunterm…') },
    { name: 'account', path: '/account', text: 'Name of a new token' },
    { name: 'firmware', path: `${org}/firmware`, text: 'not signed' },
    { name: 'firmware-delete', path: `${org}/firmware`, text: 'not signed', act: press('Delete…') },
    { name: 'webhooks', path: `${org}/webhooks`, text: 'waiting' },
    { name: 'webhook', ...webhook },
    { name: 'webhook-delivery', ...webhook, act: (page) => page.getByText('Request and response').nth(1).click() },
    { name: 'webhook-delete', ...webhook, act: press('Delete…') },
    { name: 'webhook-form', path: `${org}/webhooks/${webhookId}/edit`, text: 'device-updowns' },
    { name: 'people', ...people },
    { name: 'people-withdraw', ...people, act: press('Withdraw…') },
    { name: 'single-sign-on', path: `${org}/sso`, text: 'staff' },
    { name: 'identity-provider', path: `${org}/sso/${ssoId}`, text: 'Failed sign-ins' },
    {
      name: 'identity-provider-delete',
      path: `${org}/sso/${ssoId}`,
      text: 'Failed sign-ins',
      act: press('Delete the provider…'),
    },
    { name: 'settings', path: `${org}/settings`, text: 'Maintenance windows' },
    { name: 'audit-log', path: `${org}/audit`, text: 'Before and after' },
    {
      name: 'audit-log-entry',
      path: `${org}/audit`,
      text: 'Before and after',
      act: (page) => page.getByText('Before and after').first().click(),
    },
    { name: 'not-found', path: `${org}/nowhere`, text: 'page' },
  ]
}

const press = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click()

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.keyboard.type('be')
}

/** The plan may have nothing to start. */
async function showPlan(page: Page): Promise<void> {
  await press('Preview the plan')(page)
  await page.getByRole('heading', { name: /Plan$/ }).waitFor()
}

async function previewPlan(page: Page): Promise<void> {
  await press('Preview the plan')(page)
  await page.getByRole('button', { name: 'Start the upgrade…' }).scrollIntoViewIfNeeded()
}
