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
  /** The values, for people. */
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
    kinds: ['settings of a site'],
    fields: ['auto_upgrade', 'auto_upgrade.time_of_day'],
    values: 'any text that is no time of day but `any` or an empty one',
    words: 'must be a time of day such as 02:30, or any',
    why: 'Nobody would know when the access points are upgraded',
  },
  {
    kinds: ['webhook of an organization', 'webhook of a site'],
    fields: ['url'],
    values: 'an empty text',
    words: 'must not have fewer than 1 characters',
    why: 'A webhook without an address would never deliver',
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
    fields: ['scim_enabled'],
    values: '`true`',
    words: 'is not supported',
    why: 'There is no SCIM server; an operator who relies on it to remove people must know',
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

/** Fields whose null (for `model`, an empty text) has the effect of an absent field, by kind. */
export const unsetByNull: readonly { readonly kinds: readonly string[]; readonly fields: readonly string[] }[] = [
  { kinds: ['site'], fields: ['country_code', 'latlng', 'timezone'] },
  { kinds: ['ap', 'switch', 'gateway'], fields: ['name', 'image1_url', 'image2_url', 'image3_url'] },
  { kinds: ['edge appliance', 'edge appliance of a site'], fields: ['mxcluster_id', 'mac'] },
  { kinds: ['own account'], fields: ['compliance_status', 'expire_time', 'hours', 'name', 'no_tracking'] },
  { kinds: people, fields: ['compliance_status', 'no_tracking', 'phone', 'phone2'] },
  { kinds: ['admin'], fields: ['expire_time', 'hours'] },
  { kinds: ['edge appliance', 'edge appliance of a site'], fields: ['model'] },
  { kinds: ['invitation'], fields: ['name', 'password_modified_time'] },
]

/** Fields that only the service sets and that change without a write: values from clients are ignored. */
export const ignoredFields: readonly {
  readonly kinds: readonly string[]
  readonly fields: readonly string[]
  readonly why: string
}[] = [
  {
    kinds: ['API token of an organization', 'own API token'],
    fields: ['last_used'],
    why: 'It is the time of the last request with the token',
  },
  {
    kinds: ['edge appliance', 'edge appliance of a site'],
    fields: ['mxagent_registered', 'tunterm_registered', 'versions'],
    why: 'They say what the appliance does now',
  },
]
