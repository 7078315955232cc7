import type { Artifact, ParamsOf } from '../gateway/edge/messages.ts'
import { type Appliance, NotExecuted } from './appliance.ts'
import type { Downloads } from './downloads/download.ts'
import type { OnPoint } from './points.ts'
import type { ProgressFeed } from './downloads/progress.ts'

/** Executes the commands that take long, one after the other. Each may be executed again after a crash. */
export interface Upgrades {
  /**
   * @returns The text of the answer. @throws NotExecuted; Interrupted; Error with the reason. The same applies to the
   *   others.
   */
  stage(params: ParamsOf<'stage'>): Promise<string>
  upgradeService(params: ParamsOf<'service.upgrade'>): Promise<string>
  stageDistro(params: ParamsOf<'distro.stage'>): Promise<string>
  upgradeDistro(params: ParamsOf<'distro.upgrade'>): Promise<string>
}

export interface UpgradeOptions {
  readonly appliance: Appliance
  readonly downloads: Downloads
  readonly feed: ProgressFeed
  readonly onPoint: OnPoint
}

export function createUpgrades(options: UpgradeOptions): Upgrades {
  let last: Promise<unknown> = Promise.resolve()
  function inTurn(work: () => Promise<string>): Promise<string> {
    const ended = last.then(work, work)
    last = ended
    return ended
  }
  return {
    stage: (params) =>
      inTurn(async () => {
        await download(options, params)
        return `downloaded ${params.artifact.sha256}`
      }),
    upgradeService: (params) => inTurn(() => upgradeService(options, params)),
    stageDistro: (params) => inTurn(() => stageDistro(options, params)),
    upgradeDistro: (params) => inTurn(() => upgradeDistro(options, params)),
  }
}

async function download(
  { downloads, feed, onPoint }: UpgradeOptions,
  { command_id, artifact }: { readonly command_id: string; readonly artifact: Artifact },
): Promise<string> {
  const path = await downloads.fetch(artifact, (percent) => feed.report({ command_id, step: 'download', percent }))
  onPoint('artifact downloaded')
  return path
}

/** A service that already has the version is not changed, so a crash after the installation repeats nothing. */
async function upgradeService(options: UpgradeOptions, params: ParamsOf<'service.upgrade'>): Promise<string> {
  const { appliance, downloads, feed, onPoint } = options
  const { command_id, service, version, artifact } = params
  await appliance.awaitEarlier()
  const before = await versionOf(appliance, service)
  if (before === version) {
    await downloads.remove(artifact)
    return `${service} is ${version}`
  }
  const path = await download(options, params)
  feed.report({ command_id, step: 'install', percent: null })
  try {
    await appliance.install(service, { path, version })
    onPoint('package installed')
    const after = await versionOf(appliance, service)
    if (after !== version)
      throw new Error(`The package was installed, but ${service} reports ${after ?? 'no version'}, not ${version}`)
  } finally {
    await downloads.remove(artifact)
  }
  return `${service} is ${version}`
}

/** @throws NotExecuted if there is no such service. */
async function versionOf(appliance: Appliance, name: string): Promise<string | null> {
  const service = (await appliance.services()).find((one) => one.name === name)
  if (service === undefined) throw new NotExecuted(`There is no service ${name}`)
  return service.version
}

/** True if the appliance has left the release `from` for the one that is meant. */
async function isUpgraded(
  appliance: Appliance,
  { codename, from }: Pick<ParamsOf<'distro.upgrade'>, 'codename' | 'from'>,
): Promise<boolean> {
  const distro = await appliance.distro()
  return codename === 'next' ? distro !== from : distro === codename
}

async function stageDistro(
  { appliance, feed, onPoint }: UpgradeOptions,
  params: ParamsOf<'distro.stage'>,
): Promise<string> {
  const { command_id, codename } = params
  await appliance.awaitEarlier()
  if (await isUpgraded(appliance, params)) return `the distribution is ${await appliance.distro()}`
  feed.report({ command_id, step: 'download', percent: null })
  await appliance.downloadDistro(codename)
  onPoint('artifact downloaded')
  return `downloaded ${codename}`
}

/**
 * An appliance that no longer runs the release `from` is not changed: neither a crash nor a second command, which the
 * gateway sends when the connection of the first one was lost, upgrades by two releases.
 */
async function upgradeDistro(
  { appliance, feed, onPoint }: UpgradeOptions,
  params: ParamsOf<'distro.upgrade'>,
): Promise<string> {
  const { command_id, codename } = params
  await appliance.awaitEarlier()
  if (!(await isUpgraded(appliance, params))) {
    feed.report({ command_id, step: 'install', percent: null })
    await appliance.upgradeDistro(codename)
    onPoint('package installed')
    if (!(await isUpgraded(appliance, params)))
      throw new Error(`The upgrade has ended, but the distribution still is ${await appliance.distro()}`)
  }
  return `the distribution is ${await appliance.distro()}`
}
