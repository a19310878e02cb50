-- new-api v0.10 as its program creates it in SQLite (model/user.go, model/token.go, model/channel.go and
-- model/option.go), without indexes and without columns that are not read.
CREATE TABLE users (id integer PRIMARY KEY AUTOINCREMENT, username text UNIQUE, password text NOT NULL,
  display_name text, role int DEFAULT 1, status int DEFAULT 1, email text, github_id text, discord_id text, oidc_id
    text,
  wechat_id text, telegram_id text, access_token char(32), quota int DEFAULT 0, used_quota int DEFAULT 0,
    request_count
  int DEFAULT 0, "group" varchar(64) DEFAULT 'default', aff_code varchar(32), aff_count int DEFAULT 0, aff_quota int
  DEFAULT 0, aff_history int DEFAULT 0, inviter_id int, deleted_at datetime, linux_do_id text, setting text, remark
  varchar(255), stripe_customer varchar(64));
CREATE TABLE tokens (id integer PRIMARY KEY AUTOINCREMENT, user_id integer, key varchar(128) UNIQUE, status integer
  DEFAULT 1, name text, created_time bigint, accessed_time bigint, expired_time bigint DEFAULT -1, remain_quota
    integer
  DEFAULT 0, unlimited_quota numeric, model_limits_enabled numeric, model_limits text, allow_ips text DEFAULT '',
  used_quota integer DEFAULT 0, "group" text DEFAULT '', cross_group_retry numeric, deleted_at datetime);
CREATE TABLE channels (id integer PRIMARY KEY AUTOINCREMENT, type integer DEFAULT 0, key text NOT NULL,
  open_ai_organization text, test_model text, status integer DEFAULT 1, name text, weight integer DEFAULT 0,
    created_time
  bigint, test_time bigint, response_time integer, base_url text DEFAULT '', other text, balance real,
  balance_updated_time bigint, models text, "group" varchar(64) DEFAULT 'default', used_quota bigint DEFAULT 0,
  model_mapping text, status_code_mapping varchar(1024), priority bigint DEFAULT 0, auto_ban integer DEFAULT 1,
    other_info
  text, tag text, setting text, param_override text, header_override text, remark varchar(255), channel_info json,
  settings text);
CREATE TABLE options (key text PRIMARY KEY, value text);
CREATE TABLE top_ups (id integer PRIMARY KEY AUTOINCREMENT, user_id integer);

INSERT INTO users (id, username, password, display_name, role, status, email, quota, "group", aff_quota, deleted_at)
    VALUES
  (1, 'admin', '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', 'Admin', 10, 1, 'admin@example.com',
    0, 'default', 0, NULL),
  (2, 'mia', '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', 'Mia', 1, 1, 'mia@example.com', 2000001,
    'default', 7, NULL),
  (3, 'gone', '$2a$10$7EqJtq98hPqEX7fNZaFWoOhi6EmsUsGrr3zUrBKOHkiNMhhAmmMx2', 'Gone', 1, 1, 'gone@example.com', 10,
    'default', 0, '2026-05-01 10:00:00+00:00');
INSERT INTO tokens (id, user_id, key, status, name, expired_time, remain_quota, unlimited_quota, model_limits_enabled,
    model_limits, allow_ips, "group", deleted_at) VALUES
  (1, 2, 'GGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGGggg1', 1, 'app', -1, 0, 1, 1, 'gpt-4o,o3', '10.0.0.1
2001:db8::/32', 'vip', NULL),
  (2, 2, 'HHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHHhhh2', 4, 'spent', -1, 0, 0, 0, '', NULL, '', NULL),
  (3, 2, 'IIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIiii3', 1, 'deleted', -1, 0, 1, 0, '', '', '',
    '2026-05-01 10:00:00'),
  (4, 2, 'JJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJJjjj4', 1, 'none', -1, 5, 0, 1, '', '', '', NULL);
INSERT INTO channels (id, type, key, status, name, weight, base_url, models, "group", model_mapping, priority,
    channel_info,
    param_override) VALUES
  (1, 1, 'sk-pool-1
sk-pool-2
sk-pool-3', 1, 'Pool', 30, '', 'gpt-4o,o3,dall-e-3', 'default', '', 5,
    '{"is_multi_key":true,"multi_key_size":3,"multi_key_status_list":{"1":2}}', ''),
  (2, 43, 'sk-deep', 1, 'Deep', 10, '', 'gpt-4o,deepseek-chat', 'default', '{"gpt-4o":"deepseek-chat"}', 5, '{}',
    '{"temperature":0}'),
  (3, 20, 'sk-router', 1, 'Router', 0, '', 'gpt-4o', 'default', '', 1, NULL, NULL),
  (4, 41, '{"type":"service_account"}', 1, 'Vertex', 0, '', 'gemini-2.5-pro', 'default', '', 0, NULL, NULL);
INSERT INTO options VALUES ('QuotaPerUnit', '1000000'), ('ModelRatio', '{"gpt-4o":2.5,"o3":2,"deepseek-chat":0.27}'),
  ('CompletionRatio', '{"gpt-4o":4,"deepseek-chat":4}'), ('CacheRatio', '{"gpt-4o":0.5}'), ('ModelPrice',
    '{"dall-e-3":0.04}'),
  ('GroupRatio', '{"default":0.5,"团队":1}'), ('ModelRequestRateLimitGroup', '{"default":[100,50]}');
INSERT INTO top_ups (id, user_id) VALUES (1, 2);
