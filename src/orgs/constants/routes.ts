import { Type } from 'typebox'
import { self } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { named } from '../../http/schemas.ts'
import { listCountries, listLanguages, listStates } from './places-of-world.ts'

const tag = 'Constants Definitions'

/** Places and languages that addresses and settings may name. Source: contract, Constants Definitions. */
export const worldConstOperations: Operation[] = [
  operation({
    id: 'listCountryCodes',
    summary: 'List countries by their codes',
    method: 'GET',
    tag,
    at: self('/const/countries'),
    query: Type.Object({
      extend: Type.Optional(Type.Boolean({ default: false, description: 'all countries are always there' })),
    }),
    reply: Type.Array(
      named(
        'Country',
        Type.Object({
          alpha2: Type.String(),
          certified: Type.Boolean({ description: 'always false: radios are not certified for Signalbox' }),
          name: Type.String(),
          numeric: Type.Integer(),
        }),
      ),
    ),
    run: () => listCountries().map(({ alpha2, name, numeric }) => ({ alpha2, name, numeric, certified: false })),
  }),
  operation({
    id: 'listStates',
    summary: 'List the states of a country',
    method: 'GET',
    tag,
    at: self('/const/states'),
    query: Type.Object({ country_code: Type.String({ description: 'two letters, in any case' }) }),
    reply: Type.Array(named('State', Type.Object({ iso_code: Type.String(), name: Type.String() }))),
    run: (_ctx, { query }) => listStates(query.country_code).map(({ code, name }) => ({ iso_code: code, name })),
  }),
  operation({
    id: 'listSiteLanguages',
    summary: 'List the languages of sites',
    method: 'GET',
    tag,
    at: self('/const/languages'),
    reply: Type.Array(
      named('Language', Type.Object({ key: Type.String(), display: Type.String(), display_native: Type.String() })),
    ),
    run: () => listLanguages().map(({ tag: key, name, ownName }) => ({ key, display: name, display_native: ownName })),
  }),
].flat()
