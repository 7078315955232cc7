import type { Command } from 'commander'
import { type Api, type JsonObject, listAll, objectOf, rowsOf } from '../api.ts'
import type { Session } from '../session.ts'
import { addAutoCommand } from './auto-upgrade.ts'
import { type AddCommands, query, wholeNumber } from './command.ts'
import { findSite, siteNames } from './find.ts'
import { type FoundUpgrade, findUpgrade, upgradeKinds } from './upgrade-kinds.ts'
import { hasEnded } from './upgrade-progress.ts'
import { type PlanOptions, planned, requestUpgrade, startUpgrade } from './upgrade-request.ts'
import {
  appliancesText,
  furtherText,
  listText,
  listed,
  planText,
  reasonsText,
  startText,
  stateText,
  targetsText,
  withOverview,
} from './upgrade-texts.ts'
import { watchUpgrade } from './watch-upgrade.ts'

interface SiteOption {
  readonly site?: string
}

interface ListOptions extends SiteOption {
  readonly kind?: string
  readonly held?: true
  readonly limit: number
  readonly page: number
}

interface ApproveOptions extends SiteOption {
  readonly phase: number
  readonly phaseOf?: string
  readonly note?: string
}

interface ExcludeOptions extends SiteOption {
  readonly note?: string
}

/** The actions on an upgrade that runs. The server accepts them later, too, and changes nothing then. */
const actions = [
  { name: 'pause', description: 'begin no further devices until it is resumed', done: 'paused' },
  { name: 'resume', description: 'resume a paused upgrade', done: 'resumed' },
  { name: 'cancel', description: 'begin no further devices, for good', done: 'cancelled' },
] as const

/** A role at single sites suffices there. */
const atSite = ['--site <name or id>', 'at this site only, also with a role at the site alone'] as const

export const addUpgradeCommands: AddCommands = (program, open) => {
  const upgrade = program.command('upgrade').description('upgrade the firmware of devices')

  upgrade
    .command('list')
    .description('list the upgrades of the organization, of devices, SSR routers and edge appliances')
    .option('--kind <kind>', `only those of one kind: ${Object.keys(upgradeKinds).join(', ')}`)
    .option(...atSite)
    .option('--held', 'only those that wait for a person, a check, a time or a gate')
    .option('--limit <number>', 'upgrades of one page', wholeNumber, 100)
    .option('--page <number>', 'the page', wholeNumber, 1)
    .action(async ({ kind, site, held, limit, page }: ListOptions, command) => {
      const { session, api, place } = await enterPlace(open, command, site)
      const path = `/api/v1${place}/upgrades${query({ kind, held, limit, page })}`
      const rows = rowsOf(await api.get(path)).map(listed)
      session.output.show(rows, () => listText(rows, session.width))
    })

  planned(upgrade, 'plan <version>', 'show what an upgrade would do, and change nothing').action(
    async (version: string, options: PlanOptions, command: Command) => {
      const { session, api, orgId } = await enter(open, command)
      const { answer } = await requestUpgrade(api, orgId, { version, options, more: { dry_run: true } })
      session.output.show(answer, () => planText(answer, session.width))
    },
  )

  planned(upgrade, 'start <version>', 'upgrade devices')
    .option('--plan <id>', 'start exactly what was planned: refused if the devices have changed since')
    .option('--watch', 'show the progress until the upgrade has ended')
    .action(async (version: string, options: PlanOptions & { plan?: string; watch?: true }, command: Command) => {
      const { session, api, orgId } = await enter(open, command)
      const more = options.plan === undefined ? {} : { plan_id: options.plan }
      const { made, watched } = await startUpgrade(api, orgId, { version, options, more })
      if (options.watch !== true) return session.output.show(made, () => startText(made))
      session.output.tell(startText(made))
      await watchUpgrade(session, api, watched)
    })

  upgrade
    .command('show <id>')
    .description('show the state of an upgrade at each of its sites, or of each edge appliance')
    .option(...atSite)
    .action(async (id: string, { site }: SiteOption, command) => {
      const { session, api, orgId, place, siteId } = await enterPlace(open, command, site)
      const found = await findUpgrade(api, place, id)
      const record = objectOf(await api.get(found.path))
      const show = (shown: JsonObject, stateOf: () => string): void =>
        session.output.show(shown, () => withOverview(stateOf(), found.kind, found.row))
      if (found.kind === 'mxedge') {
        const targets = await listAll(api, `${found.path}/targets?limit=1000`)
        return show({ ...record, targets }, () => appliancesText(targets, session.width))
      }
      const names = await siteNames(api, orgId)
      show(record, () => stateText(found.kind, record, { names, siteId, width: session.width }))
    })

  upgrade
    .command('watch <id>')
    .description('show the progress of an upgrade until it has ended')
    .option(...atSite)
    .action(async (id: string, { site }: SiteOption, command) => {
      const { session, api, place } = await enterPlace(open, command, site)
      await watchUpgrade(session, api, await findUpgrade(api, place, id))
    })

  upgrade
    .command('approve <id>')
    .description('open the gate at which an upgrade waits, so that its next phase begins')
    .requiredOption('--phase <number>', 'the phase that has ended, from 1; 0 for the start', wholeNumber)
    .option('--phase-of <kind>', 'downloads, where these have phases of their own, or reboots (default: reboots)')
    .option('--note <text>', 'the reason, for the report and the audit log')
    .option(...atSite)
    .action(async (id: string, { phase, phaseOf, note, site }: ApproveOptions, command) => {
      const { session, api, found } = await enterAt(open, command, { id, site })
      const answer = await api.post(`${found.path}/approve`, {
        phase,
        ...(phaseOf !== undefined && { phase_of: phaseOf }),
        ...(note !== undefined && { note }),
      })
      const what = phase === 0 ? 'the start' : `${phaseOf === 'downloads' ? 'download phase' : 'phase'} ${phase}`
      session.output.show(answer, () => `${what} of upgrade ${id} approved${furtherText(found.row)}`)
    })

  for (const { name, description, done } of actions)
    upgrade
      .command(`${name} <id>`)
      .description(description)
      .option(...atSite)
      .action(async (id: string, { site }: SiteOption, command: Command) => {
        const { session, api, found } = await enterAt(open, command, { id, site })
        const answer = await api.post(`${found.path}/${name}`)
        session.output.show(answer, () => `upgrade ${id} ${outcomeOf(found, name, done)}`)
      })

  upgrade
    .command('retry <id>')
    .description('upgrade the devices again that have failed')
    .option(...atSite)
    .action(async (id: string, { site }: SiteOption, command) => {
      const { session, api, found } = await enterAt(open, command, { id, site })
      const answer = objectOf(await api.post(`${found.path}/retry`))
      session.output.show(answer, () => {
        const retried = `upgrade ${id} retries ${targetsText(Number(answer['retried']), found.kind)}`
        return [retried, ...reasonsText('not retried', rowsOf(answer['skipped'] ?? []))].join('\n')
      })
    })

  upgrade
    .command('exclude <id> <device...>')
    .description('exclude devices by their MAC addresses, or edge appliances by their ids; the others go on')
    .option('--note <text>', 'the reason, for the report and the audit log')
    .option(...atSite)
    .action(async (id: string, devices: readonly string[], { note, site }: ExcludeOptions, command: Command) => {
      const { session, api, found } = await enterAt(open, command, { id, site })
      const names = found.kind === 'mxedge' ? { mxedge_ids: [...devices] } : { macs: [...devices] }
      const body = { ...names, ...(note !== undefined && { note }) }
      const answer = objectOf(await api.post(`${found.path}/exclude`, body))
      session.output.show(answer, () => {
        const excluded = `upgrade ${id} excludes ${targetsText(Number(answer['excluded']), found.kind)}`
        return [excluded, ...reasonsText('not excluded', rowsOf(answer['skipped'] ?? []))].join('\n')
      })
    })

  addAutoCommand(upgrade, open)
}

function outcomeOf({ kind, row }: FoundUpgrade, action: (typeof actions)[number]['name'], done: string): string {
  if (!hasEnded(row)) return done
  const awaited = Number(row['awaited'] ?? 0)
  return action === 'cancel' && awaited > 0
    ? `no longer awaits ${targetsText(awaited, kind)} of other upgrades`
    : 'has already ended, nothing changed'
}

interface NamedUpgrade {
  readonly id: string
  readonly site: string | undefined
}

async function enterAt(
  open: (command: Command) => Session,
  command: Command,
  { id, site }: NamedUpgrade,
): Promise<Pick<Entered, 'session' | 'api'> & { readonly found: FoundUpgrade }> {
  const { session, api, place } = await enterPlace(open, command, site)
  return { session, api, found: await findUpgrade(api, place, id) }
}

interface Entered {
  readonly session: Session
  readonly api: Api
  readonly orgId: string
}

async function enter(open: (command: Command) => Session, command: Command): Promise<Entered> {
  const session = open(command)
  const api = await session.connect()
  return { session, api, orgId: await session.orgId(api) }
}

/** @returns Also the organization or the site, if one is named, as the beginning of a path. */
async function enterPlace(
  open: (command: Command) => Session,
  command: Command,
  site: string | undefined,
): Promise<Entered & { readonly place: string; readonly siteId: string | null }> {
  const entered = await enter(open, command)
  const { api, orgId } = entered
  if (site === undefined) return { ...entered, place: `/orgs/${orgId}`, siteId: null }
  const siteId = await findSite(api, orgId, site)
  return { ...entered, place: `/sites/${siteId}`, siteId }
}
