import type { Method, Report } from '../gateway/edge/messages.ts'
import type { OwnStats } from '../mxedges/sessions/machine.ts'

export type Service = Report['services'][number]
export type ServiceAction = 'start' | 'stop' | 'restart'

/** A package that was downloaded and checked. */
export interface PackageFile {
  readonly path: string
  readonly version: string
}

/** The machine that the agent runs on, as far as commands change it. Every method may be called again after a crash. */
export interface Appliance {
  /** The methods that it can execute; the gateway queues no other commands. */
  readonly methods: readonly Method[]
  services(): Promise<readonly Service[]>
  /** Returns the statistics that the system can't provide; null if no command for them is configured, or it fails. */
  ownStats(): Promise<OwnStats | null>
  /** @throws Error with the reason. */
  control(service: string, action: ServiceAction): Promise<void>
  /** @throws Error with the reason. */
  bouncePorts(ports: readonly string[], holdMs: number): Promise<void>
  /** @throws Error with the reason. */
  disconnectAps(macs: readonly string[]): Promise<void>
  /** Waits for the installation or upgrade that an earlier process of the agent began and that still runs. */
  awaitEarlier(): Promise<void>
  /**
   * Installs a package, after which the service should report the version.
   * @throws Error with the reason.
   */
  install(service: string, file: PackageFile): Promise<void>
  /** Returns the codename of the distribution that the machine runs now; null if it has none. */
  distro(): Promise<string | null>
  /**
   * Downloads the files for the upgrade of the distribution, without changing anything.
   * @param codename As below.
   * @throws Error with the reason.
   */
  downloadDistro(codename: string): Promise<void>
  /**
   * Upgrades the distribution.
   * @param codename Of a release, or `next`.
   * @throws Error with the reason.
   */
  upgradeDistro(codename: string): Promise<void>
  /** Writes support files, as one archive, to a new file at the path. @throws Error with the reason. */
  collectSupport(path: string): Promise<void>
  /** @throws Error with the reason. */
  configure(configuration: Readonly<Record<string, unknown>>): Promise<void>
}

/** The service, port or hook does not exist, so nothing was executed. */
export class NotExecuted extends Error {
  override readonly name = 'NotExecuted'
}
