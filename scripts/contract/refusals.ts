/**
 * Everything of the published contract that Signalbox refuses, lacks, or never answers, each with its reason. The page
 * docs/refusals.md is made from these tables; the comparison with a contract and the round-trip suite read them, and
 * fail where something is refused that they don't name, or where they name something that is not refused.
 */

/** A value that the contract admits, and a write refuses with 400. */
export interface RefusedValue {
  /** Kinds of objects, by the names of the round-trip suite. */
  readonly kinds: readonly string[]
  /** Such as `privileges.[].scope`. */
  readonly fields: readonly string[]
  /** Which values, for people. */
  readonly values: string
  /** A part of the answer's detail, after the name of the field. */
  readonly words: string
  readonly why: string
}

const withPrivileges = ['API token of an organization', 'SSO role', 'admin', 'invitation']
const people = ['admin', 'invitation']

export const refusedValues: readonly RefusedValue[] = [
  {
    kinds: [
      ...['organization', 'site', 'site group', 'own API token', 'API token of an organization', 'SSO', 'SSO role'],
      ...['edge appliance', 'edge appliance of a site'],
    ],
    fields: ['name'],
    values: 'an empty text',
    words: 'must not have fewer than 1 characters',
    why: 'People find objects by their names',
  },
  {
    kinds: ['site'],
    fields: ['timezone'],
    values: 'an empty text, and any other that is no IANA zone',
    words: 'is not an IANA zone name',
    why: 'Upgrades start at the local time of a site; `"-timezone": ""` sets UTC',
  },
  {
    kinds: ['webhook of an organization', 'webhook of a site'],
    fields: ['url'],
    values: 'an empty text',
    words: 'must not have fewer than 1 characters',
    why: 'A webhook without an address would never deliver',
  },
  {
    kinds: ['webhook of an organization', 'webhook of a site'],
    fields: ['type'],
    values: '`aws-sns`, `google-pubsub`',
    words: 'must be one of http-post, oauth2, splunk',
    why: 'They need the credentials and signatures of one cloud, whose endpoints also take `http-post`',
  },
  {
    kinds: people,
    fields: ['privileges.[].scope'],
    values: '`msp`, `orggroup`',
    words: 'must be one of org, orgsites, site, sitegroup',
    why: 'There are no service providers and no groups of organizations above organizations',
  },
  {
    kinds: people,
    fields: ['privileges.[].msp_id', 'privileges.[].orggroup_ids'],
    values: 'any id',
    words: 'does not belong to a privilege of scope',
    why: 'There are no service providers and no groups of organizations above organizations',
  },
  {
    kinds: people,
    fields: ['privileges.[].sitegroup_ids'],
    values: 'an empty list in a privilege of scope `sitegroup`',
    words: 'is required',
    why: 'The privilege would grant nothing',
  },
  {
    kinds: ['API token of an organization'],
    fields: ['src_ips'],
    values: 'other addresses than those of the creation',
    words: "can't be changed",
    why: 'Those who know the addresses must be able to rely on them; the contract has them as immutable',
  },
  {
    kinds: ['SSO'],
    fields: ['idp_type'],
    values: '`ldap`, `mxedge_proxy`, `oauth`, `openroaming`',
    words: 'is not supported: only saml is',
    why: 'They authenticate devices in a network, which Signalbox does not do; their fields are stored and answered',
  },
  {
    kinds: ['SSO'],
    fields: ['scim_enabled'],
    values: '`true`',
    words: 'is not supported',
    why: 'There is no SCIM server; whoever relies on it to remove people must know',
  },
  {
    kinds: ['SSO'],
    fields: ['idp_sign_algo'],
    values: '`sha384`',
    words: 'sha384 is not supported',
    why: 'The library that verifies XML signatures does not know it',
  },
  {
    kinds: ['edge appliance', 'edge appliance of a site'],
    fields: ['mac'],
    values: 'another one than that of the hardware',
    words: "can't be changed: it is that of the hardware",
    why: 'It identifies the appliance',
  },
  {
    kinds: ['ap', 'switch', 'gateway'],
    fields: ['image1_url', 'image2_url', 'image3_url'],
    values: 'any but the address that was answered',
    words: "can't be changed here: upload the picture",
    why: 'Pictures are uploaded, not linked: another server could follow who looks at them',
  },
  {
    kinds: ['admin'],
    fields: [
      ...['compliance_status', 'email', 'expire_time', 'first_name', 'hours', 'last_name', 'name', 'no_tracking'],
      ...['password_modified_time', 'phone', 'phone2'],
    ],
    values: 'any but the present one',
    words: "can't be changed here: only the owner of the account may",
    why: 'The account belongs to a person, who may administer several organizations',
  },
  {
    kinds: ['invitation'],
    fields: ['compliance_status', 'name', 'no_tracking', 'password_modified_time', 'phone', 'phone2'],
    values: 'any',
    words: "can't be set: the invited person sets it in their account",
    why: 'An invitation has only what it grants and the name of the invited person',
  },
  {
    kinds: ['invitation'],
    fields: ['email'],
    values: 'another one, in a change',
    words: "can't be changed: another address needs another invitation",
    why: 'Its link was sent to the first address',
  },
  {
    kinds: ['invitation'],
    fields: ['expire_time'],
    values: 'any but the present one',
    words: "can't be set: `hours` decide when the invitation expires",
    why: 'Each change sends the invitation again, for `hours`',
  },
  {
    kinds: ['own account'],
    fields: ['email'],
    values: 'another one',
    words: "can't be changed here: use /self/update",
    why: 'The new address must be verified first',
  },
  {
    kinds: ['own account'],
    fields: [
      'privileges',
      ...['msp_id', 'org_id', 'orggroup_ids', 'role', 'scope', 'site_id', 'sitegroup_ids', 'views'].map(
        (name) => `privileges.[].${name}`,
      ),
    ],
    values: 'any but the present ones',
    words: "can't be changed here: use the admins of the organization",
    why: 'Nobody grants privileges to themselves',
  },
  {
    kinds: ['own account'],
    fields: ['name', 'password_modified_time'],
    values: 'any but the present one',
    words: "can't be changed: the service sets it",
    why: 'It follows from other fields',
  },
  {
    kinds: ['own account'],
    fields: ['compliance_status', 'expire_time', 'hours'],
    values: 'any',
    words: "can't be set: accounts do not have it",
    why: 'Accounts do not expire; invitations do',
  },
  {
    kinds: withPrivileges,
    fields: ['privileges'],
    values: 'an empty list',
    words: 'must not have fewer than 1 items',
    why: 'Nobody could use it; an admin is removed by DELETE',
  },
]

/** Fields whose null (of `model`, an empty text) is read as if nobody had written them, by kind. */
export const unsetByNull: readonly { readonly kinds: readonly string[]; readonly fields: readonly string[] }[] = [
  { kinds: ['site'], fields: ['country_code', 'latlng'] },
  { kinds: ['ap', 'switch', 'gateway'], fields: ['name', 'image1_url', 'image2_url', 'image3_url'] },
  { kinds: ['edge appliance', 'edge appliance of a site'], fields: ['mxcluster_id', 'mac'] },
  { kinds: ['own account'], fields: ['compliance_status', 'expire_time', 'hours', 'name', 'no_tracking'] },
  { kinds: people, fields: ['compliance_status', 'no_tracking', 'phone', 'phone2'] },
  { kinds: ['admin'], fields: ['expire_time', 'hours'] },
  { kinds: ['edge appliance', 'edge appliance of a site'], fields: ['model'] },
  { kinds: ['invitation'], fields: ['name', 'password_modified_time'] },
]

/** A refusal of an operation whose objects are not read back, so that no round trip finds it. */
export interface FurtherRefusal {
  readonly what: string
  /** A part of the answer's detail. It stands in the file. */
  readonly words: string
  readonly file: string
  readonly why: string
}

export const furtherRefusals: readonly FurtherRefusal[] = [
  {
    what: '`PUT /orgs/{org_id}/inventory` with the `op` `upgrade_to_mist` or `downgrade_to_jsi`',
    words: 'is not supported',
    file: 'src/devices/inventory/wire.ts',
    why: 'There is no other service to transfer devices to or from',
  },
  {
    what: '`POST /orgs/{org_id}/inventory/replace` with `tunterm_port_config`',
    words: 'edge appliances are not replaced here',
    file: 'src/devices/inventory/wire-replace.ts',
    why: 'An edge appliance is replaced by a new registration',
  },
  {
    what: '`POST /orgs/{org_id}/inventory/reevaluate_auto_assignment`',
    words: "Devices can't be assigned by rules",
    file: 'src/devices/inventory/routes.ts',
    why: 'There are no rules that assign devices',
  },
  {
    what: 'searches of device events with `last_by` or `includes`',
    words: 'is not supported',
    file: 'src/devices/events/wire.ts',
    why: 'Another order or other members would be expected, and not answered',
  },
  {
    what: '`ping` of a device with `node`',
    words: "the device can't ping from node",
    file: 'src/devices/commands/wire.ts',
    why: 'No device offers to ping from one node; the answer would be of another',
  },
  {
    what: '`locate` and `unlocate` of a device with another `mac` than its own',
    words: 'no part of it can blink alone',
    file: 'src/devices/commands/locate-device.ts',
    why: 'Another part would blink than the one that was meant',
  },
  {
    what: '`support` of a device with another `info` than `full`',
    words: 'is not possible: the device collects everything',
    file: 'src/devices/support/wire.ts',
    why: 'Devices collect all they have, which may be more than was meant to leave them',
  },
  {
    what: '`support` of a device with `node`',
    words: "the device can't collect from one node alone",
    file: 'src/devices/support/wire.ts',
    why: 'Devices collect all they have, which may be more than was meant to leave them',
  },
  {
    what: '`support` of a device where the device CA signed the certificate of the HTTPS server',
    words: "The device can't upload to this server",
    file: 'src/devices/support/request-support.ts',
    why: 'Devices trust only public CAs when they upload, so the files would never arrive',
  },
  {
    what: '`support` of an edge appliance',
    words: "The agent of an edge appliance can't upload support files",
    file: 'src/mxedges/routes-agent.ts',
    why: 'The agent has no method for it',
  },
  {
    what: 'settings of an organization with addresses in `api_policy.src_ips`',
    words: "can't take effect yet",
    file: 'src/orgs/setting.ts',
    why: 'A protection that protects nothing must not look like one',
  },
  {
    what: 'import of maps with the `vendor_name` `ibwave`',
    words: "projects of ibwave can't be read",
    file: 'src/placement/wire-import.ts',
    why: 'The format is not public',
  },
  {
    what: 'import of maps with `auto_deviceprofile_assignment`',
    words: 'there are no device profiles',
    file: 'src/placement/wire-import.ts',
    why: 'They would not be assigned',
  },
  {
    what: 'import of wayfinding data with the `vendor_name` `jibestream`',
    words: "maps of jibestream can't be fetched",
    file: 'src/maps/wire.ts',
    why: "The server would have to download them with the customer's credentials",
  },
  {
    what: 'upgrades with `snapshot`, `enable_p2p`, `dry_run` or other than the default values of `rrm_...`',
    words: 'not supported yet',
    file: 'src/upgrades/wire-parse.ts',
    why: 'Nothing carries them out; the upgrade would run without them',
  },
]
