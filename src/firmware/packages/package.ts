/** The packages that edge appliances can get. Each one installs the service of the same name. */
export const packageNames = ['mxagent', 'mxdas', 'mxocproxy', 'radsecproxy', 'tunterm'] as const
export type PackageName = (typeof packageNames)[number]

/** The version becomes an argument of the operator's command, so it must not look like an option. */
export const PACKAGE_VERSION = '^[A-Za-z0-9][A-Za-z0-9.+:~_-]{0,99}$'
/** What upgrades request instead of a version. */
export const packageLabels = ['current', 'default', 'latest'] as const
/** The codename of a distribution. */
export const CODENAME = '^[a-z][a-z0-9-]{0,31}$'

/** From the most stable one on: each channel also offers the versions of those before it. */
export const channels = ['stable', 'beta', 'alpha'] as const
export type Channel = (typeof channels)[number]

/** A catalog entry: `imageId` installs `version` of the package. */
export interface CatalogPackage {
  readonly package: PackageName
  readonly version: string
  /** The codename of the distribution that it is built for; null: any. */
  readonly distro: string | null
  readonly channel: Channel
  /** True for the version that `default` refers to; at most one per package, distribution and channel. */
  readonly isDefault: boolean
  readonly imageId: string
}
