import { absences } from './absences.ts'
import type { Finding } from './compare.ts'
import { type Correction, fieldOf, isCorrected } from './corrections.ts'

/** A difference from the contract that stays, as the comparison prints it. */
export interface Difference {
  /** The beginnings of findings, without the `results[].` of a search; see {@link fieldOf}. */
  readonly fields: readonly string[]
  /** Empty: wherever it is found. */
  readonly operations: readonly string[]
  readonly why: string
  /** True for optional fields about things that no operation of the contract creates, so that nothing could be answered. */
  readonly isOfNothing?: true
}

const anywhere: readonly string[] = []

export const differences: readonly Difference[] = [
  {
    fields: ['reply.msp_', 'reply.privileges[].msp_'],
    operations: anywhere,
    why: 'There are no service providers above organizations',
    isOfNothing: true,
  },
  {
    fields: ['body.privileges[].scope: msp, orggroup refused'],
    operations: ['updateOrgAdmin', 'inviteOrgAdmin', 'updateOrgAdminInvite'],
    why: 'There are no service providers and no groups of organizations above organizations',
  },
  {
    fields: ['reply.site_id: not there'],
    operations: ['listOrgSsos', 'createOrgSso', 'getOrgSso', 'updateOrgSso'],
    why: 'They belong to organizations, never to sites: no operation creates one of a site',
    isOfNothing: true,
  },
  {
    fields: ['body.privileges: required here', 'body.email: required here'],
    operations: ['inviteOrgAdmin'],
    why: 'An invitation is sent to an address, and one without privileges would invite to nothing',
  },
  {
    fields: ['body.mac: required here', 'body.inventory_mac: required here'],
    operations: ['replaceOrgDevices'],
    why: 'They say which device takes the place of which: a guess could move the wrong one',
  },
  {
    fields: ['reply.port_id: not there'],
    operations: ['searchSiteSystemEvents'],
    why: 'No event of the service concerns a port',
  },
  {
    fields: ['reply.compliance_status', 'reply.expire_time', 'reply.hours'],
    operations: ['listOrgAdmins', 'updateOrgAdmin'],
    why: 'Accounts do not expire; invitations do',
  },
  {
    fields: ['reply.no_tracking', 'reply.phone', 'reply.session_expiry'],
    operations: ['listOrgAdmins', 'updateOrgAdmin'],
    why: "Only the owner sees these, in GET /self: admins of one organization do not read a person's telephone numbers",
  },
  {
    fields: ['id', 'org_id', 'created_time', 'modified_time'].map((name) => `reply.switch.${name}: not there`),
    operations: ['getSiteSetting', 'updateSiteSettings'],
    why: 'The settings of switches are a part of those of the site, and no record of their own',
    isOfNothing: true,
  },
  {
    fields: ['reply.conductor_cmd'],
    operations: ['getOrg128TRegistrationCommands'],
    why: 'Routers register by their agent, without a conductor',
  },
  {
    fields: ['reply.scim_base_url'],
    operations: ['getOrgSamlMetadata'],
    why: 'SCIM is not supported',
    isOfNothing: true,
  },
  {
    fields: ['reply.blacklist_url', 'reply.whitelist_url', 'reply.watched_station_url'],
    operations: ['getOrgSettings', 'updateOrgSettings', 'getSiteSetting', 'updateSiteSettings'],
    why: 'There are no lists of stations',
    isOfNothing: true,
  },
  {
    fields: ['reply.cradlepoint'],
    operations: ['getOrgSettings', 'updateOrgSettings'],
    why: 'No account of this vendor is linked',
    isOfNothing: true,
  },
  {
    fields: ['reply.deviceprofile_name', 'reply.rftemplate_name'],
    operations: ['listInstallerListOfRecentlyClaimedDevices', 'listInstallerSites'],
    why: 'There are no device profiles and no radio templates',
    isOfNothing: true,
  },
  {
    fields: ['errors', 'vc_mode', 'recovery_version'].map((name) => `reply.members[].${name}`),
    operations: ['getInstallerDeviceVirtualChassis'],
    why: 'No reply that the gateway asks Junos for has them',
  },
  {
    fields: ['optics_cpld', 'power_cpld', 're_fpga', 'tmc_fpga'].map((name) => `reply.members[].${name}_version`),
    operations: ['getInstallerDeviceVirtualChassis'],
    why: 'The gateway knows no name under which a Junos device reports this firmware of a member',
  },
  {
    fields: ['reply.marvis_suggestion_category'],
    operations: ['listAlarmDefinitions'],
    why: 'No alarm comes from an assistant',
    isOfNothing: true,
  },
  {
    fields: ['reply.'],
    operations: ['getSiteAllClientsStatsByDevice'],
    why: 'Devices report nothing else about their clients over uCentral',
  },
  {
    fields: ['reply.events[].device_id', 'reply.events[].site_id', 'reply.events[].site_name'],
    operations: ['alarms', 'audits', 'deviceUpDown', 'ping'],
    why: 'Not every event concerns a device or a site; a field that does not apply is absent',
  },
  {
    fields: ['bssids', 'event_id', 'node', 'ssids'].map((name) => `reply.events[].${name}`),
    operations: ['alarms'],
    why: 'No alarm concerns a wireless network or a single node',
  },
]

function explains({ fields, operations }: Difference, id: string, field: string): boolean {
  if (operations.length > 0 && !operations.includes(id)) return false
  return fields.some((start) => fieldOf(field).startsWith(start))
}

/** Lists the differences that the tables don't name; an absent operation is one. */
export function unexplained(findings: readonly Finding[]): string[] {
  return findings.flatMap(({ id, verdict, fields }) => {
    if (verdict === 'missing')
      return absences.some(({ operations }) => operations.includes(id)) ? [] : [`${id}: missing`]
    const left = fields.filter((field) => !differences.some((difference) => explains(difference, id, field)))
    return left.map((field) => `${id}: ${field}`)
  })
}

/** Lists the entries of the tables that the comparison does not find. */
export function outdated(findings: readonly Finding[]): string[] {
  const missing = new Set(findings.filter(({ verdict }) => verdict === 'missing').map(({ id }) => id))
  const found = (difference: Difference, start: string, id: string | null): boolean =>
    findings.some(
      (finding) =>
        (id === null || finding.id === id) &&
        finding.fields.some((field) => explains({ ...difference, fields: [start] }, finding.id, field)),
    )
  return [
    ...absences.flatMap(({ operations }) => operations.filter((id) => !missing.has(id)).map((id) => `${id}: served`)),
    ...differences.flatMap((difference) =>
      difference.fields.filter((start) => !found(difference, start, null)).map((start) => `${start}: nowhere`),
    ),
    ...differences.flatMap((difference) =>
      difference.operations
        .filter((id) => !difference.fields.some((start) => found(difference, start, id)))
        .map((id) => `${id}: without ${difference.fields.join(', ')}`),
    ),
  ]
}

/** Lists the corrections that the comparison does not need: the document agrees, or the server lacks nothing there. */
export function outdatedCorrections(findings: readonly Finding[], corrections: readonly Correction[]): string[] {
  return corrections.flatMap(({ fields, operations, source }) =>
    operations.flatMap((id) => {
      const found = findings.find((finding) => finding.id === id)?.fields ?? []
      const isNeeded = found.some((field) => isCorrected({ fields, operations, source }, id, field))
      return isNeeded ? [] : [`${id}: without ${fields.join(', ')}`]
    }),
  )
}

/** The effects of the narrower operations on clients, the most severe first. Each operation is in one group. */
export interface Shortfalls {
  /** They take less than the contract: a client's request is refused. */
  readonly takingLess: number
  /** Their answers differ from the contract's: a field has another type, or is not always present. */
  readonly answeringOtherwise: number
  /** Their answers lack fields that are optional in the contract: clients decode them without. */
  readonly lackingFields: number
  /** The same, and all these fields concern objects that no operation creates, such as service providers. */
  readonly lackingNothing: number
}

export function countShortfalls(findings: readonly Finding[]): Shortfalls {
  const narrower = findings.filter(({ verdict }) => verdict === 'narrower')
  const takesLess = ({ fields }: Finding): boolean => fields.some((field) => !field.startsWith('reply'))
  const lacksFields = ({ fields }: Finding): boolean => fields.every((field) => /^reply.*: not there$/.test(field))
  const takingLess = narrower.filter(takesLess).length
  const lacking = narrower.filter(lacksFields)
  const lackingNothing = lacking.filter(isOfNothing).length
  return {
    takingLess,
    answeringOtherwise: narrower.length - takingLess - lacking.length,
    lackingFields: lacking.length - lackingNothing,
    lackingNothing,
  }
}

function isOfNothing({ id, fields }: Finding): boolean {
  const ofNothing = differences.filter((difference) => difference.isOfNothing)
  return fields.every((field) => ofNothing.some((difference) => explains(difference, id, field)))
}
