-- Survey paths have ids, as the service gives them to new ones; an id of another form was only stored.
update site_map set doc = jsonb_set(doc, '{sitesurvey_path}', (
  select jsonb_agg(
    case
      when path ->> 'id' ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then path
      else path || jsonb_build_object('id', gen_random_uuid())
    end order by place
  ) from jsonb_array_elements(doc -> 'sitesurvey_path') with ordinality as paths (path, place)
)) where jsonb_typeof(doc -> 'sitesurvey_path') = 'array' and doc -> 'sitesurvey_path' <> '[]';
