//! What decision records call their parts and their statuses in several languages: English, German, Spanish, Portuguese,
//! French, Italian, Japanese, Chinese, Korean and Russian.

/// The headings of the parts of a record, in lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordPart {
    Status,
    Date,
    Decision,
    /// A part that only tells where the others end.
    Other,
}

const PARTS: [(RecordPart, &[&str]); 4] = [
    (
        RecordPart::Status,
        &["status", "estado", "statut", "stato", "ステータス", "状態", "状态", "狀態", "상태", "статус"],
    ),
    (RecordPart::Date, &["date", "datum", "fecha", "data", "日付", "日期", "날짜", "дата"]),
    (
        RecordPart::Decision,
        &[
            "decision",
            "decision outcome",
            "decisions",
            "the decision",
            "our decision",
            "proposed decision",
            "resolution",
            "entscheidung",
            "getroffene entscheidung",
            "entscheidungsergebnis",
            "decisión",
            "decisão",
            "décision",
            "decisione",
            "決定",
            "決定事項",
            "决策",
            "决定",
            "決策",
            "결정",
            "решение",
        ],
    ),
    (
        RecordPart::Other,
        &[
            "context",
            "consequences",
            "rationale",
            "alternatives",
            "references",
            "kontext",
            "konsequenzen",
            "begründung",
            "alternativen",
            "betrachtete alternativen",
            "referenzen",
            "contexto",
            "consecuencias",
            "consequências",
            "contexte",
            "conséquences",
            "contesto",
            "conseguenze",
            "背景",
            "コンテキスト",
            "結果",
            "影響",
            "后果",
            "影响",
            "맥락",
            "결과",
            "контекст",
            "последствия",
        ],
    ),
];

/// The statuses, with the beginnings of the words that mean them, in lower case.
const STATUSES: [(&str, &[&str]); 5] = [
    (
        "superseded",
        &[
            "supersed",
            "superced",
            "ersetzt",
            "abgelöst",
            "sustituid",
            "reemplazad",
            "substituíd",
            "remplacé",
            "sostituit",
            "superat",
            "置き換え",
            "置換",
            "已取代",
            "被取代",
            "已替代",
            "대체",
            "заменен",
            "заменён",
        ],
    ),
    (
        "deprecated",
        &[
            "deprecat",
            "veraltet",
            "obsolet",
            "depreciad",
            "déprécié",
            "非推奨",
            "廃止",
            "已弃用",
            "已废弃",
            "폐기",
            "устарел",
        ],
    ),
    (
        "rejected",
        &[
            "reject",
            "abgelehnt",
            "verworfen",
            "rechazad",
            "rejeitad",
            "recusad",
            "rejeté",
            "refusé",
            "rifiutat",
            "respint",
            "却下",
            "不採用",
            "已拒绝",
            "拒绝",
            "거부",
            "отклонен",
            "отклонён",
        ],
    ),
    ("proposed", &["propos", "vorgeschlagen", "propuest", "提案", "已提议", "提议", "建议", "제안", "предложен"]),
    (
        "accepted",
        &[
            "accept",
            "accett",
            "akzeptiert",
            "angenommen",
            "beschlossen",
            "aceptad",
            "aceit",
            "aprovad",
            "aprobad",
            "承認",
            "採用",
            "採択",
            "已接受",
            "接受",
            "已采纳",
            "已通过",
            "승인",
            "채택",
            "принят",
            "approuvé",
        ],
    ),
];

impl RecordPart {
    /// Returns whether a heading or the name of a value means this part.
    pub(super) fn is_called(self, name: &str) -> bool {
        let name = name.trim().to_lowercase();
        PARTS.iter().any(|(part, names)| *part == self && names.contains(&name.as_str()))
    }

    /// Returns whether a line is the name of any part.
    pub(super) fn names_one(line: &str) -> bool {
        let line = line.trim().trim_end_matches([':', '：']).to_lowercase();
        PARTS.iter().any(|(_, names)| names.contains(&line.as_str()))
    }
}

/// Returns the English word for a status, in lower case; `None` if the word is unknown.
pub(super) fn usual_status(word: &str) -> Option<&'static str> {
    STATUSES.iter().find(|(_, starts)| starts.iter().any(|start| word.starts_with(start))).map(|(status, _)| *status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_of_many_languages_mean_the_english_ones() {
        for (words, expected) in [
            (
                "accepted akzeptiert angenommen aceptado aceito accepté accettato 承認 承認済み 採用 已接受 принято 승인됨",
                Some("accepted"),
            ),
            ("proposed vorgeschlagen propuesto proposto proposé proposta 提案中 предложено", Some("proposed")),
            ("rejected abgelehnt rechazado rejeitado rejeté rifiutato 却下 已拒绝 отклонено", Some("rejected")),
            (
                "superseded superceded ersetzt abgelöst reemplazado substituído remplacé sostituito 已取代 заменено",
                Some("superseded"),
            ),
            ("deprecated veraltet obsoleto déprécié 非推奨 已弃用 устарело", Some("deprecated")),
            ("active draft resolved provisional", None),
        ] {
            for word in words.split(' ') {
                assert_eq!(usual_status(word), expected, "{word}");
            }
        }
    }
}
