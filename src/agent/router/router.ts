import type { RouterHello, RouterMethod } from '../../gateway/edge/router-messages.ts'
import type { PackageFile } from '../appliance.ts'

export type RouterNode = RouterHello['nodes'][number]

/** An SSR router, as far as commands change it. Every method may be called again after a crash. */
export interface Router {
  /** The methods that it can execute; the gateway queues no other commands. */
  readonly methods: readonly RouterMethod[]
  /** The nodes that can be restarted individually. */
  readonly nodes: readonly RouterNode[]
  /** Names the boot; another one after each reboot. */
  bootId(): Promise<string>
  uptimeS(): Promise<number>
  /** The version of the running firmware. @throws Error if it can't be read. */
  version(): Promise<string>
  /** Waits for the reboot that an earlier process of the agent began, and that has yet to take the router down. */
  awaitReboot(): Promise<void>
  /** Installs firmware, which runs after a reboot. @throws Error with the reason. */
  install(image: PackageFile): Promise<void>
  /**
   * Reboots one node, or the whole router. Resolves when the reboot has begun.
   * @param commandId A node reboots once per command, even if the agent was killed and repeats the call: the boot of
   *   the agent's node does not reveal the other one's.
   * @throws Error with the reason.
   */
  reboot(node: RouterNode | null, commandId: string): Promise<void>
  /** Writes support files, as one archive, to a new file at the path. @throws Error with the reason. */
  collectSupport(path: string): Promise<void>
}
